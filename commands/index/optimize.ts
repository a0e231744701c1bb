import { BaseCommand } from '../../src/cli/base-command.ts';
import { bucketFlag, orgFlag } from '../../src/cli/flags.ts';

export default class IndexOptimize extends BaseCommand {
  static override setsUp = false;
  static override description =
    'Merge the small files of the search index of a bucket, and bring its full-text index up to date, now.\n' +
    'Workers do this by themselves whenever writing pauses.';
  static override examples = [
    '<%= config.bin %> index optimize --bucket manuals',
    '<%= config.bin %> index optimize --bucket manuals --json',
  ];
  static override flags = { bucket: bucketFlag, org: orgFlag };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(IndexOptimize);
    return this.withOperator(flags, async ({ sql, ingest: { reindex } }, operator, signal) => {
      const { findBucket } = await import('../../src/documents/buckets.ts');
      const { id, name } = await findBucket(sql, operator.orgId, flags.bucket);
      const beganMs = performance.now();
      await reindex.index.optimize(id, signal);
      const ms = Math.round(performance.now() - beganMs);
      this.log(`optimized the index of ${name} in ${ms} ms`);
      return { bucket_id: id, optimized: true, duration_ms: ms };
    });
  }
}
