import { Flags } from '@oclif/core';
import { BaseCommand, type SessionFlags } from '../../src/cli/base-command.ts';
import { bucketFlag, jsonOf, numberOf, orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class Search extends BaseCommand {
  static override description =
    'Find the passages of a bucket that answer a query, best first.\n' +
    'The command prints the best sentences of each passage; --full prints whole passages. With --json ' +
    'the output is the response of POST /v2/buckets/{bucket}/search.';
  static override examples = [
    "<%= config.bin %> search 'how long is the warranty' --bucket manuals",
    `<%= config.bin %> search 'parental leave' --filter '{"department":"hr"}' --top-k 3 --json`,
  ];
  static override args = { query: requiredArg('question or words to search for') };
  static override flags = withVariables({
    org: orgFlag,
    bucket: bucketFlag,
    'top-k': Flags.integer({
      description: 'maximum number of results, up to 100; also --limit, as in other commands',
      aliases: ['limit'],
      default: 10,
    }),
    mode: Flags.string({ description: 'kind of search: hybrid, vector or keyword', default: 'hybrid' }),
    collection: Flags.string({ description: 'name or id of a collection, to search only there' }),
    filter: Flags.string({ description: 'metadata that documents must have, as JSON such as {"team":"legal"}' }),
    'min-score': Flags.string({ description: 'lowest score of a result, 0 to 1 (default: no limit)' }),
    'max-per-document': Flags.integer({
      description: 'maximum number of results from one document (default: no limit)',
    }),
    full: Flags.boolean({ description: 'print whole passages instead of the sentences that answer best' }),
    rerank: Flags.boolean({ description: 'order the results with the configured reranker' }),
    highlight: Flags.boolean({
      description: 'mark the words of the query in colour; with --json, add the sentences that contain them',
      default: true,
      allowNo: true,
    }),
    correct: Flags.boolean({
      description: 'replace a word that no document contains with the most similar one that occurs',
      default: true,
      allowNo: true,
    }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Search);
    const request = {
      bucket: flags.bucket,
      query: args.query,
      top_k: flags['top-k'],
      mode: flags.mode,
      collection: flags.collection,
      filter: flags.filter === undefined ? undefined : jsonOf('filter', flags.filter),
      rerank: flags.rerank,
      score_threshold: numberOf('min-score', flags['min-score']),
      max_per_document: flags['max-per-document'],
      highlights: flags.highlight && this.jsonEnabled(),
      correct: flags.correct,
    };
    const names = { query: 'QUERY', score_threshold: '--min-score' };
    const { response, snippets } = await this.call(flags, 'search.bucket', request, names);
    for (const warning of response.warnings) this.logToStderr(`warning: ${warning}`);
    for (const { from, to } of response.corrected) {
      this.logToStderr(`no document has "${from}"; searched for "${to}" (--no-correct searches for words as they are)`);
    }
    const { renderResults } = await import('../../src/cli/search-results.ts');
    if (response.results.length === 0) this.logToStderr(await this.#whyNothing(flags));
    else if (response.relevance === 'none') this.logToStderr('no passage seems to answer the query; the nearest are:');
    if (response.results.length > 0)
      this.log(renderResults(response.results, flags.highlight ? args.query : '', flags.full ? null : snippets));
    return response;
  }

  /** Explain why there are no results: an empty bucket, or no match. */
  async #whyNothing(flags: SessionFlags & { bucket: string }): Promise<string> {
    const { bucket } = flags;
    const { data } = await this.call(flags, 'documents.list', { bucket, limit: 1 });
    if (data.length > 0) return 'nothing found';
    return `the bucket "${bucket}" has no documents; upload some: ${this.config.bin} documents upload PATH --bucket ${bucket}`;
  }
}
