import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { bucketFlag, orgFlag, withVariables } from '../../src/cli/flags.ts';
import type { JudgedQuery } from '../../src/insight/tune-weights.ts';

export default class IndexTune extends BaseCommand {
  static override description =
    'Find the weights of keywords and vectors that rank judged documents of a bucket highest.\n' +
    'Each line of the file is {"query": "…", "relevant": ["file.pdf", "doc_…"]}, or with gains {"file.pdf": 2}. ' +
    'The command keeps the weights only with --apply. They apply to the current vectors of the bucket.';
  static override examples = [
    '<%= config.bin %> index tune --bucket manuals --queries judged.jsonl',
    '<%= config.bin %> index tune --bucket manuals --judged-from-log --apply --json',
  ];
  static override flags = withVariables({
    bucket: bucketFlag,
    queries: Flags.string({ description: 'file of judged queries', exactlyOne: ['queries', 'judged-from-log'] }),
    'judged-from-log': Flags.boolean({ description: 'use the queries that people judged in the search log' }),
    org: orgFlag,
    apply: Flags.boolean({ description: 'use the best weights from now on' }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(IndexTune);
    const { readJudgedQueries } = await import('../../src/cli/judged-queries.ts');
    const fromFile = flags.queries === undefined ? null : await readJudgedQueries(flags.queries);
    return this.withOperator(flags, async ({ sql, search }, operator, signal) => {
      const { listJudgedQueries } = await import('../../src/insight/log/edit-log.ts');
      const judged = fromFile ?? toJudged(await listJudgedQueries(sql, operator, flags.bucket));
      const { tuneWeights } = await import('../../src/insight/tune-weights.ts');
      const { openProgress } = await import('../../src/cli/progress.ts');
      const progress = await openProgress();
      progress.begin('searching', judged.length);
      const options = { apply: flags.apply ?? false, signal, onQuery: (done: number) => progress.update(done) };
      const tuned = await tuneWeights(search, operator, flags.bucket, judged, options).finally(() => progress.close());
      const describe = ({ keyword, vector, ndcg }: (typeof tuned)['best']) =>
        `keywords ${keyword}, vectors ${vector}: nDCG@10 ${ndcg.toFixed(4)}`;
      await this.showFields({
        queries: tuned.queries,
        present: describe(tuned.present),
        best: describe(tuned.best),
        'gain on unseen queries': tuned.held_out_gain.toFixed(4),
        applied: tuned.applied,
      });
      if (!tuned.applied) this.logToStderr('nothing was changed; keep the best weights with --apply');
      return tuned;
    });
  }
}

/** Convert judged queries of the search log. */
function toJudged(queries: readonly { query: string; relevant: Record<string, number> }[]): JudgedQuery[] {
  return queries.map(({ query, relevant }) => ({ query, relevant: new Map(Object.entries(relevant)) }));
}
