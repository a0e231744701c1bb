import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { bucketFlag, orgFlag, yesFlag } from '../../src/cli/flags.ts';
import { documentArg, selectionOf, whereFlag } from '../../src/cli/select-documents.ts';
import { oneLine } from '../../src/platform/printable.ts';

export default class DocumentsDelete extends BaseCommand {
  static override setsUp = false;
  static override description = 'Delete documents with their files and vectors. This cannot be undone.';
  static override examples = [
    '<%= config.bin %> documents delete manuals/pump.md --bucket manuals',
    `<%= config.bin %> documents delete --where "team = 'old'" --yes --json`,
  ];
  static override args = { document: documentArg };
  static override flags = { org: orgFlag, bucket: bucketFlag, where: whereFlag, yes: yesFlag };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(DocumentsDelete);
    const selection = selectionOf(args, flags);
    return this.withOperator(flags, async ({ sql, documents: { purgeWithText } }, operator, signal) => {
      const { deleteDocument } = await import('../../src/documents/documents.ts');
      const { describeDocuments, selectDocuments } = await import('../../src/cli/select-documents.ts');
      const { listPage } = await import('../../src/operations/list-page.ts');
      const documents = await selectDocuments(sql, operator, selection);
      const described = oneLine(describeDocuments(documents));
      const object = documents.length === 1 ? 'it' : 'them';
      await confirm(`This deletes ${described} and cannot be undone. Delete ${object}?`, flags.yes, signal);
      for (const { id, bucket_id: bucketId } of documents) await deleteDocument(sql, operator, bucketId, id);
      await purgeWithText(signal);
      this.log(`deleted ${described}`);
      const deleted = documents.map(({ id }) => ({ id, deleted: true }));
      return selection.names?.length === 1 ? deleted[0] : listPage(deleted);
    });
  }
}
