import { Args } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { bucketFlag, orgFlag, yesFlag } from '../../src/cli/flags.ts';
import { oneLine } from '../../src/platform/printable.ts';

export default class DocumentsDelete extends BaseCommand {
  static override setsUp = false;
  static override description = 'Delete a document with its file and its vectors. This cannot be undone.';
  static override examples = [
    '<%= config.bin %> documents delete doc_01h8 --bucket manuals',
    '<%= config.bin %> documents delete doc_01h8 --yes --json',
  ];
  static override args = {
    id: Args.string({ description: 'id of the document', required: true, ignoreStdin: true }),
  };
  static override flags = { org: orgFlag, bucket: bucketFlag, yes: yesFlag };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(DocumentsDelete);
    return this.withOperator(flags, async ({ sql, documents }, operator, signal) => {
      const { deleteDocument, getDocument } = await import('../../src/documents/documents.ts');
      const { id, file_name } = await getDocument(sql, operator, flags.bucket, args.id);
      await confirm(`This deletes ${oneLine(file_name)} (${id}) and cannot be undone. Delete it?`, flags.yes, signal);
      await deleteDocument(sql, operator, flags.bucket, id);
      await documents.purge(signal);
      this.log(`deleted ${oneLine(file_name)} (${id})`);
      return { id, deleted: true };
    });
  }
}
