import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { orgFlag, sourceArg, withVariables, yesFlag } from '../../src/cli/flags.ts';

export default class SourcesRemove extends BaseCommand {
  static override description =
    'Disconnect a source and remove its documents from the bucket. The source itself stays unchanged.';
  static override examples = [
    '<%= config.bin %> sources remove handbook',
    '<%= config.bin %> sources remove handbook --keep-documents --yes --json',
  ];
  static override args = { source: sourceArg };
  static override flags = withVariables({
    org: orgFlag,
    yes: yesFlag,
    'keep-documents': Flags.boolean({ description: 'leave its documents in the bucket, as if they had been uploaded' }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SourcesRemove);
    const keepDocuments = flags['keep-documents'] ?? false;
    return this.withSession(flags, async (session, signal) => {
      const { id, name, indexed_document_count: count } = await session.call('sources.show', { source: args.source });
      const [is, stays] = count === 1 ? ['is', 'stays'] : ['are', 'stay'];
      const effect = `its ${documentsOf(count)} ${keepDocuments ? stays : `${is} removed`}`;
      await confirm(`This disconnects the source ${name}; ${effect}. Disconnect it?`, flags.yes, signal);
      const deleted = await session.call('sources.remove', { source: id, keep_documents: keepDocuments });
      const done = keepDocuments ? 'left in the bucket' : 'removed';
      this.log(`disconnected ${name}; ${documentsOf(deleted.documents)} ${done}`);
      return deleted;
    });
  }
}

function documentsOf(count: number): string {
  return count === 1 ? '1 document' : `${count} documents`;
}
