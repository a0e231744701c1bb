import { BaseCommand } from '../../src/cli/base-command.ts';
import { bucketFlag, orgFlag, withVariables } from '../../src/cli/flags.ts';
import { documentArg, SELECTION_NAMES, selectionOf, whereFlag } from '../../src/cli/select-documents.ts';

export default class DocumentsText extends BaseCommand {
  static override description =
    'Print the text extracted from documents.\nLines with their names separate several documents.';
  static override examples = [
    '<%= config.bin %> documents text pump.md --bucket manuals',
    '<%= config.bin %> documents text doc_01h8 doc_01h9 --json',
  ];
  static override args = { document: documentArg };
  static override flags = withVariables({ org: orgFlag, bucket: bucketFlag, where: whereFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(DocumentsText);
    const selection = selectionOf(args, flags);
    return this.withSession(flags, async (session) => {
      const { readTextOf } = await import('../../src/cli/read-documents.ts');
      const { listPage } = await import('../../src/operations/list-page.ts');
      const documents = await session.call('documents.select', selection, SELECTION_NAMES);
      const texts = [];
      for (const document of documents) {
        const text = await readTextOf(session, document);
        if (documents.length > 1) this.log(`==> ${document.source_path ?? document.file_name} (${document.id}) <==`);
        this.log(text.text);
        if (this.jsonEnabled()) texts.push(text);
      }
      return selection.names?.length === 1 ? texts[0] : listPage(texts);
    });
  }
}
