import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { bucketFlag, orgFlag, withVariables } from '../../src/cli/flags.ts';
import type { Rehearsal } from '../../src/ingest/rehearsal/schema.ts';

export default class IndexRehearse extends BaseCommand {
  static override description =
    'Compare another model with the current model of a bucket before you move the bucket.\n' +
    'The candidate embeds a sample of the chunks and some queries. The table shows how the ranks change, nDCG@10 of ' +
    'judged queries, and the cost, time and size of moving the whole bucket. The bucket does not change. ' +
    'Each line of the file is {"query": "…"}; judged queries also have "relevant": ["file.pdf"]. ' +
    'Without a file, the command uses the judged queries of the search log, then the most frequent ones.';
  static override examples = [
    '<%= config.bin %> index rehearse --bucket manuals --model vendor-e/embeddings-v3 --estimate',
    '<%= config.bin %> index rehearse --bucket manuals --model vendor-e/embeddings-v3 --queries judged.jsonl --json',
  ];
  static override flags = withVariables({
    bucket: bucketFlag,
    model: Flags.string({ description: 'id of the candidate, as in "models list"', required: true }),
    queries: Flags.string({ description: 'file of queries, up to 200 (default: those of the search log)' }),
    sample: Flags.integer({ description: 'chunks to embed, 100 to 5000', default: 2000 }),
    mode: Flags.string({
      description: 'kind of search to compare: hybrid or vector',
      options: ['hybrid', 'vector'],
      default: 'hybrid',
    }),
    org: orgFlag,
    estimate: Flags.boolean({ description: 'show what the rehearsal costs, and embed nothing' }),
    full: Flags.boolean({ description: 'print the best chunks of each query side by side' }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(IndexRehearse);
    const { readQueries } = await import('../../src/cli/judged-queries.ts');
    const queries = flags.queries === undefined ? undefined : await readQueries(flags.queries);
    return this.withSession(flags, async (session, signal) => {
      const { openProgress } = await import('../../src/cli/progress.ts');
      const { readProgress } = await import('../../src/operations/progress-lines.ts');
      const { describeMoves, describeRehearsal, queryColumns } = await import('../../src/cli/rehearsal.ts');
      const { bucket, model, sample, mode, estimate } = flags;
      const request = { bucket, model, sample, mode: mode as 'hybrid' | 'vector', queries };
      const { output, body } = await session.receive('index.rehearse', { ...request, dry_run: estimate ?? false });
      const progress = await openProgress();
      if (!estimate) progress.begin('embedding chunks', output.chunks);
      const read = readProgress<Rehearsal>(body, (done) => progress.update(done), signal);
      const report = await read.finally(() => progress.close());
      for (const warning of report.warnings) this.logToStderr(`warning: ${warning}`);
      if (!report.dry_run) await this.showTable('queries', report.results, queryColumns());
      if (flags.full) for (const result of report.results) this.log(describeMoves(result));
      await this.showFields(describeRehearsal(report));
      return report;
    });
  }
}
