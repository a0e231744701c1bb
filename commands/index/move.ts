import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { bucketFlag, orgFlag, withVariables } from '../../src/cli/flags.ts';
import { ENGINES } from '../../src/documents/engines.ts';

export default class IndexMove extends BaseCommand {
  static override description =
    'Move the search index of a bucket to another engine. No provider is called.\n' +
    'A job builds a new index on that engine while searches use the current one. The new index includes all changes ' +
    'made meanwhile, and then replaces the current one in one step. An interrupted job continues where it stopped.';
  static override examples = [
    '<%= config.bin %> index move --bucket archive --engine milvus',
    '<%= config.bin %> index move --bucket archive --engine lance --dry-run',
  ];
  static override flags = withVariables({
    bucket: bucketFlag,
    engine: Flags.option({
      options: ENGINES,
      description: 'engine to move the index to; milvus needs the setting index.milvus',
      required: true,
    })(),
    org: orgFlag,
    'dry-run': Flags.boolean({ description: 'show what would be done, and change nothing' }),
    wait: Flags.boolean({
      description: 'wait until the job is done and show its progress',
      default: true,
      allowNo: true,
    }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(IndexMove);
    const request = { bucket: flags.bucket, engine: flags.engine, dry_run: flags['dry-run'] === true };
    return this.withSession(flags, async (session, signal) => {
      const reply = await session.call('index.move', request);
      const { from_engine: from, engine, chunks } = reply;
      if (reply.job_id === null) {
        const isDone = from === engine || !reply.dry_run;
        this.log(
          isDone
            ? `the index of ${flags.bucket} is on ${engine}`
            : `would move ${chunks} chunks from ${from} to ${engine}`,
        );
        return reply;
      }
      if (!flags.wait) {
        this.log(`queued as ${reply.job_id}`);
        return reply;
      }
      const { waitForIndexJob } = await import('../../src/cli/wait-for-job.ts');
      const job = await waitForIndexJob(session, { id: reply.job_id, label: 'moving chunks' }, signal);
      this.log(`${job.chunks_count} chunks of ${flags.bucket} are on ${engine}`);
      return { ...reply, status: job.status };
    });
  }
}
