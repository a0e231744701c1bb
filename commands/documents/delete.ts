import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { bucketFlag, orgFlag, yesFlag } from '../../src/cli/flags.ts';
import {
  describeDocuments,
  documentArg,
  SELECTION_NAMES,
  selectionOf,
  whereFlag,
} from '../../src/cli/select-documents.ts';
import { oneLine } from '../../src/platform/printable.ts';

export default class DocumentsDelete extends BaseCommand {
  static override setsUp = false;
  static override description = 'Delete documents with their files and vectors. This cannot be undone.';
  static override examples = [
    '<%= config.bin %> documents delete pump.md --bucket manuals',
    `<%= config.bin %> documents delete --where "team = 'old'" --yes --json`,
  ];
  static override args = { document: documentArg };
  static override flags = { org: orgFlag, bucket: bucketFlag, where: whereFlag, yes: yesFlag };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(DocumentsDelete);
    const selection = selectionOf(args, flags);
    return this.withSession(flags, async (session, signal) => {
      const documents = await session.call('documents.select', selection, SELECTION_NAMES);
      const described = oneLine(describeDocuments(documents));
      const object = documents.length === 1 ? 'it' : 'them';
      await confirm(`This deletes ${described} and cannot be undone. Delete ${object}?`, flags.yes, signal);
      const named = documents.map(({ id, bucket_id }) => ({ id, bucket_id }));
      const deleted = await session.call('documents.remove', { documents: named });
      this.log(`deleted ${described}`);
      return selection.names?.length === 1 ? deleted.data[0] : deleted;
    });
  }
}
