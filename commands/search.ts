import { Args, Flags } from '@oclif/core';
import { BaseCommand } from '../src/cli/base-command.ts';
import { bucketFlag, jsonOf, orgFlag } from '../src/cli/flags.ts';
import { parseRequest } from '../src/cli/parse-request.ts';

export default class Search extends BaseCommand {
  static override setsUp = false;
  static override description = 'Find the passages of a bucket that answer a query, best first.';
  static override examples = [
    "<%= config.bin %> search 'how long is the warranty' --bucket manuals",
    `<%= config.bin %> search 'parental leave' --filter '{"department":"hr"}' --top-k 3 --json`,
  ];
  static override args = {
    query: Args.string({ description: 'question or words to search for', required: true, ignoreStdin: true }),
  };
  static override flags = {
    org: orgFlag,
    bucket: bucketFlag,
    'top-k': Flags.integer({ description: 'number of results at most, up to 100', default: 10, env: 'SERVICE_TOP_K' }),
    mode: Flags.string({
      description: 'kind of search: hybrid, vector or keyword',
      default: 'hybrid',
      env: 'SERVICE_MODE',
    }),
    collection: Flags.string({ description: 'name or id of the only collection to search', env: 'SERVICE_COLLECTION' }),
    filter: Flags.string({
      description: 'metadata that documents must have, as JSON such as {"team":"legal"}',
      env: 'SERVICE_FILTER',
    }),
    rerank: Flags.boolean({ description: 'order the results with the configured reranker', env: 'SERVICE_RERANK' }),
    highlight: Flags.boolean({
      description: 'mark the words of the query in colour; with --json, add the sentences that have them',
      default: true,
      allowNo: true,
      env: 'SERVICE_HIGHLIGHT',
    }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Search);
    const { SearchRequest } = await import('../src/search/schema.ts');
    const request = parseRequest(
      SearchRequest,
      {
        query: args.query,
        top_k: flags['top-k'],
        mode: flags.mode,
        collection: flags.collection,
        filter: flags.filter === undefined ? undefined : jsonOf('filter', flags.filter),
        rerank: flags.rerank,
        highlights: flags.highlight && this.jsonEnabled(),
      },
      { query: 'QUERY' },
    );
    return this.withOperator(flags, async ({ search }, operator, signal) => {
      const { searchBucket } = await import('../src/search/search.ts');
      const { renderResults } = await import('../src/cli/search-results.ts');
      const response = await searchBucket(search, operator, flags.bucket, request, signal);
      for (const warning of response.warnings) this.logToStderr(`warning: ${warning}`);
      if (response.results.length === 0) this.logToStderr('nothing found');
      else this.log(renderResults(response, flags.highlight ? request.query : ''));
      return response;
    });
  }
}
