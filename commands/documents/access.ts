import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { bucketFlag, orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';
import { SELECTION_NAMES, selectionOf } from '../../src/cli/select-documents.ts';

export default class DocumentsAccess extends BaseCommand {
  static override description = 'Explain why a user or a key may or may not read a document.';
  static override examples = [
    '<%= config.bin %> documents access contract.pdf --bucket legal --as ana@example.com',
    '<%= config.bin %> documents access doc_01k2… --as key:Ab3dEf6h --json',
  ];
  static override args = { document: requiredArg('id, path or file name of the document') };
  static override flags = withVariables({
    org: orgFlag,
    bucket: bucketFlag,
    as: Flags.string({ description: 'reader: email or id of a user, or key:ID', required: true }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(DocumentsAccess);
    const selection = selectionOf(args, flags);
    return this.withSession(flags, async (session) => {
      const [document] = await session.call('documents.select', selection, SELECTION_NAMES);
      const named = { bucket: document?.bucket_id, document: document?.id, as: flags.as };
      const explained = await session.call('documents.access', named, { as: '--as' });
      const reader = explained.reader.email ?? explained.reader.id;
      this.log(`${reader} ${explained.readable ? 'may' : 'may not'} read ${document?.file_name}`);
      for (const reason of explained.reasons) this.log(`- ${reason}`);
      return explained;
    });
  }
}
