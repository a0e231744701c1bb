import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { bucketFlag, orgFlag, withVariables } from '../../src/cli/flags.ts';
import type { RebuildReport } from '../../src/ingest/reindex/reindex-bucket.ts';

export default class IndexRebuild extends BaseCommand {
  static override description =
    'Rebuild the search index of a bucket from the chunks stored with its documents, after it was lost or damaged.\n' +
    'No provider is called. Searches use the present index, if there is one, until the new one replaces it. ' +
    'An interrupted run continues where it stopped.';
  static override examples = [
    '<%= config.bin %> index rebuild --bucket manuals',
    '<%= config.bin %> index rebuild --bucket manuals --leave-out-damaged --json',
  ];
  static override flags = withVariables({
    bucket: bucketFlag,
    org: orgFlag,
    'leave-out-damaged': Flags.boolean({
      description: 'continue without the documents whose stored chunks cannot be read, and list them',
    }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(IndexRebuild);
    return this.withSession(flags, async (session, signal) => {
      const { openProgress } = await import('../../src/cli/progress.ts');
      const { readProgress } = await import('../../src/operations/progress-lines.ts');
      const request = { bucket: flags.bucket, leave_out_damaged: flags['leave-out-damaged'] };
      const { output, body } = await session.receive('index.rebuild', request);
      const progress = await openProgress();
      try {
        progress.begin('indexing chunks', output.chunks);
        const report = await readProgress<RebuildReport>(body, (done) => progress.update(done), signal);
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
