import { Flags } from '@oclif/core';
import { BaseCommand } from '../../../src/cli/base-command.ts';
import { forceFlag, limitFlag, orgFlag, withVariables } from '../../../src/cli/flags.ts';
import { oneLine } from '../../../src/platform/printable.ts';

const SEARCHES_MAX = 1000;

export default class SearchLog extends BaseCommand {
  static override description =
    'List the logged queries, newest first, and whether each search found something.\n' +
    'The organization must keep queries; to turn that on, run "search log level queries". To search for the word ' +
    '"log", add another word, such as "the log".';
  static override examples = [
    '<%= config.bin %> search log --unanswered --since 7d',
    '<%= config.bin %> search log --slow --export slow.csv',
  ];
  static override flags = withVariables({
    org: orgFlag,
    bucket: Flags.string({ description: 'only searches of this bucket' }),
    unanswered: Flags.boolean({ description: 'only searches whose results do not seem to answer the query' }),
    slow: Flags.boolean({ description: 'only searches that took a second or longer' }),
    since: Flags.string({ description: 'only searches of this recent period, such as 7d' }),
    contains: Flags.string({ description: 'only queries with this text' }),
    limit: limitFlag('searches', { max: SEARCHES_MAX }),
    export: Flags.string({
      description: 'write all entries to this file: CSV if its name ends in .csv, otherwise NDJSON; - for stdout',
    }),
    force: forceFlag,
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(SearchLog);
    const { bucket, unanswered, slow, since, contains, limit, export: file, force } = flags;
    const request = { bucket, unanswered, slow, since, contains };
    if (file !== undefined) {
      const { refuseJson } = await import('../../../src/cli/save-file.ts');
      refuseJson(file, this.jsonEnabled());
      const format = file.endsWith('.csv') ? 'csv' : 'ndjson';
      return this.withSession(flags, async (session, signal) => {
        const { exportBody } = await import('../../../src/cli/save-file.ts');
        const { body } = await session.receive('search.exportLog', { ...request, format });
        return exportBody(body, file, { force, signal });
      });
    }
    const page = await this.call(flags, 'search.log', { ...request, limit });
    const hint = 'see what is kept: search log level';
    await this.showTable(
      'searches',
      page.data,
      [
        ['asked', (row) => row.asked_at],
        ['by', (row) => row.asked_by],
        ['ms', (row) => row.took_ms],
        ['results', (row) => row.results],
        ['relevance', (row) => row.relevance ?? ''],
        ['helpful', (row) => (row.helpful === null ? '' : row.helpful ? 'yes' : 'no')],
        ['query', (row) => oneLine(row.query), 'may be cut'],
      ],
      hint,
    );
    return page;
  }
}
