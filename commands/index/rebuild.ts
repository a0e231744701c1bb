import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { bucketFlag, orgFlag } from '../../src/cli/flags.ts';

export default class IndexRebuild extends BaseCommand {
  static override setsUp = false;
  static override description =
    'Rebuild the search index of a bucket from the chunks stored with its documents, after it was lost or damaged.\n' +
    'No provider is called. Searches use the present index, if there is one, until the new one replaces it. ' +
    'An interrupted run continues where it stopped.';
  static override examples = [
    '<%= config.bin %> index rebuild --bucket manuals',
    '<%= config.bin %> index rebuild --bucket manuals --leave-out-damaged --json',
  ];
  static override flags = {
    bucket: bucketFlag,
    org: orgFlag,
    'leave-out-damaged': Flags.boolean({
      description: 'continue without the documents whose stored chunks cannot be read, and list them',
      env: 'SERVICE_LEAVE_OUT_DAMAGED',
    }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(IndexRebuild);
    return this.withOperator(flags, async ({ sql, ingest: { reindex } }, operator, signal) => {
      const { findBucket } = await import('../../src/documents/buckets.ts');
      const { selectLiveGroups } = await import('../../src/search/index-store.ts');
      const { rebuildIndex } = await import('../../src/ingest/reindex/reindex-bucket.ts');
      const { openProgress } = await import('../../src/cli/progress.ts');
      const bucket = await findBucket(sql, operator.orgId, flags.bucket);
      const groups = await selectLiveGroups(sql, operator.orgId, bucket.id);
      const total = groups.reduce((sum, { chunks }) => sum + chunks, 0);
      const progress = await openProgress();
      try {
        progress.begin('indexing chunks', total);
        const report = await rebuildIndex(reindex, operator, bucket.id, {
          leaveOutDamaged: flags['leave-out-damaged'],
          signal,
          onProgress: (done) => progress.update(done),
        });
        for (const id of report.left_out)
          this.logToStderr(`warning: the document ${id} was left out; reprocess its job`);
        this.log(`indexed ${report.chunks} chunks of ${report.documents} documents`);
        return report;
      } finally {
        progress.close();
      }
    });
  }
}
