import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { forceFlag, withVariables } from '../../src/cli/flags.ts';
import { listPage } from '../../src/operations/list-page.ts';
import { invalidRequest } from '../../src/platform/errors.ts';

export default class ProjectionsEvaluate extends BaseCommand {
  static override description =
    'Measure the maps in use again, on texts that were not used to fit them.\n' +
    'This calls no provider. With --docs, --queries and --qrels, the command also embeds these texts, and searches ' +
    'the documents of the reference model with the queries of each model.';
  static override examples = [
    '<%= config.bin %> projections evaluate --html report.html',
    '<%= config.bin %> projections evaluate --model vendor-e/embeddings-v3 --docs d.jsonl --queries q.jsonl --qrels qrels.tsv --json',
  ];
  static override flags = withVariables({
    model: Flags.string({ description: 'id of a model, to measure only that one' }),
    html: Flags.string({ description: 'file for a report, as an HTML page' }),
    force: forceFlag,
    docs: Flags.string({ description: 'file of documents, one {"id": …, "text": …} on each line' }),
    queries: Flags.string({ description: 'file of queries, one {"id": …, "text": …} on each line' }),
    qrels: Flags.string({ description: 'relevance judgements (qrels) in the TREC format' }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(ProjectionsEvaluate);
    const { docs, queries, qrels, html, force } = flags;
    const given = [docs, queries, qrels].filter((file) => file !== undefined);
    if (given.length > 0 && given.length < 3)
      throw invalidRequest('give --docs, --queries and --qrels together, or none of them', 'docs');
    return this.withAppliance(flags, async (appliance, signal) => {
      const { evaluateMaps, writeReport } = await import('../../src/cli/evaluate-maps.ts');
      const files = docs && queries && qrels ? { docs, queries, qrels } : null;
      const evaluations = await evaluateMaps(appliance, { model: flags.model, files, signal });
      const { showScores } = await import('../../src/cli/projection-scores.ts');
      for (const { map, evaluation, retrieval } of evaluations) {
        this.log(`${map.model}, map ${map.version}: ${evaluation.grade} (${evaluation.score.toFixed(3)})`);
        await showScores(evaluation, (noun, rows, columns) => this.showTable(noun, rows, columns));
        if (!retrieval) continue;
        await this.showTable('queries', retrieval, [
          ['language', (row) => row.language],
          ['queries', (row) => row.queries],
          ['nDCG@10 cross', (row) => row.cross.ndcg.toFixed(4)],
          ['native', (row) => row.native.ndcg.toFixed(4)],
          ['relative', (row) => row.relative.ndcg?.toFixed(3)],
          ['recall@10 relative', (row) => row.relative.recall?.toFixed(3)],
        ]);
      }
      if (html !== undefined) await writeReport(html, evaluations, force);
      return listPage(evaluations);
    });
  }
}
