import { BaseCommand } from '../../src/cli/base-command.ts';
import { bucketFlag, orgFlag, withVariables } from '../../src/cli/flags.ts';
import { documentArg, SELECTION_NAMES, selectionOf, whereFlag } from '../../src/cli/select-documents.ts';

export default class DocumentsShow extends BaseCommand {
  static override description = 'Show documents: their state, size, newest job, access policy and metadata.';
  static override examples = [
    '<%= config.bin %> documents show pump.md --bucket manuals',
    `<%= config.bin %> documents show --where "status = 'failed'" --json`,
  ];
  static override args = { document: documentArg };
  static override flags = withVariables({ org: orgFlag, bucket: bucketFlag, where: whereFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(DocumentsShow);
    const selection = selectionOf(args, flags);
    const documents = await this.call(flags, 'documents.select', selection, SELECTION_NAMES);
    for (const [at, document] of documents.entries()) {
      if (at > 0) this.log('');
      await this.showFields(document);
    }
    const { listPage } = await import('../../src/operations/list-page.ts');
    return selection.names?.length === 1 ? documents[0] : listPage(documents);
  }
}
