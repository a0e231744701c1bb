import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { bucketFlag, orgFlag, withVariables, yesFlag } from '../../src/cli/flags.ts';

export default class IndexReembed extends BaseCommand {
  static override description =
    'Embed all chunks of a bucket with another model, so that its queries and uploads use that model.\n' +
    'A job builds a new index while searches use the current one. The new index includes all changes made meanwhile, ' +
    'and then replaces the current one in one step. Stored vectors of the model are reused at no cost.';
  static override examples = [
    '<%= config.bin %> index reembed --bucket manuals --dry-run',
    '<%= config.bin %> index reembed --bucket manuals --model vendor-e/embeddings-v3 --yes --json',
  ];
  static override flags = withVariables({
    bucket: bucketFlag,
    model: Flags.string({
      description: 'id of the model, as in "models list" (default: the primary model of the routing)',
    }),
    org: orgFlag,
    'dry-run': Flags.boolean({ description: 'show what would be done, and change nothing' }),
    wait: Flags.boolean({
      description: 'wait until the job is done and show its progress',
      default: true,
      allowNo: true,
    }),
    yes: yesFlag,
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(IndexReembed);
    const request = { bucket: flags.bucket, model: flags.model };
    return this.withSession(flags, async (session, signal) => {
      const plan = await session.call('index.reembed', { ...request, dry_run: true });
      const { describeReembed } = await import('../../src/cli/reprojection.ts');
      const described = describeReembed(flags.bucket, plan);
      if (flags['dry-run']) {
        this.log(described);
        return plan;
      }
      this.logToStderr(described);
      await confirm('Go on?', flags.yes, signal);
      const reply = await session.call('index.reembed', { ...request, dry_run: false });
      if (reply.job_id === null || !flags.wait) return this.#report(reply);
      const { waitForIndexJob } = await import('../../src/cli/wait-for-job.ts');
      const job = await waitForIndexJob(session, { id: reply.job_id, label: 'embedding chunks' }, signal);
      this.log(`${job.chunks_count} chunks of ${flags.bucket} are embedded by ${reply.model}`);
      return { ...reply, status: job.status, actual_cost: job.actual_cost };
    });
  }

  #report<Reply extends { job_id: string | null }>(reply: Reply): Reply {
    this.log(reply.job_id === null ? 'nothing to do' : `queued as ${reply.job_id}`);
    return reply;
  }
}
