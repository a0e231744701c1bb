import { BaseCommand } from '../../src/cli/base-command.ts';
import { limitFlag, orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

const ENTRIES_MAX = 1000;

export default class MetadataHistory extends BaseCommand {
  static override description =
    'Show the changes of a document, newest first: actor, time, statement, and the values before and after.';
  static override examples = [
    '<%= config.bin %> metadata history doc_01h8',
    '<%= config.bin %> metadata history doc_01h8 --limit 10 --json',
  ];
  static override args = { document: requiredArg('id of the document') };
  static override flags = withVariables({
    org: orgFlag,
    limit: limitFlag('changes', { max: ENTRIES_MAX }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(MetadataHistory);
    const page = await this.call(flags, 'metadata.history', { document: args.document, limit: flags.limit });
    const { historyColumns } = await import('../../src/cli/metadata-tables.ts');
    await this.showTable('changes', page.data, historyColumns);
    return page;
  }
}
