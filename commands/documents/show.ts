import { Args } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { bucketFlag, orgFlag } from '../../src/cli/flags.ts';

export default class DocumentsShow extends BaseCommand {
  static override setsUp = false;
  static override description = 'Show a document: its state, size, access policy and metadata.';
  static override examples = [
    '<%= config.bin %> documents show doc_01h8 --bucket manuals',
    '<%= config.bin %> documents show doc_01h8 --json',
  ];
  static override args = {
    id: Args.string({ description: 'id of the document', required: true, ignoreStdin: true }),
  };
  static override flags = { org: orgFlag, bucket: bucketFlag };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(DocumentsShow);
    return this.withOperator(flags, async ({ sql }, operator) => {
      const { getDocument } = await import('../../src/documents/documents.ts');
      const document = await getDocument(sql, operator, flags.bucket, args.id);
      await this.showFields(document);
      return document;
    });
  }
}
