import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { withVariables } from '../../src/cli/flags.ts';

export default class JobsReap extends BaseCommand {
  static override description =
    'Mark stuck jobs as failed in every organization: jobs in progress that have done no work for too long.';
  static override examples = [
    '<%= config.bin %> jobs reap --timeout-minutes 60',
    '<%= config.bin %> jobs reap --dry-run --json',
  ];
  static override flags = withVariables({
    'timeout-minutes': Flags.integer({ description: 'minutes without any work done, 1 to 1440', default: 30 }),
    'dry-run': Flags.boolean({ description: 'list the jobs, and change nothing' }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(JobsReap);
    const request = { timeout_minutes: flags['timeout-minutes'], dry_run: flags['dry-run'] };
    const reply = await this.call(flags, 'jobs.reap', request);
    await this.showTable('stale jobs', reply.jobs, [
      ['job', (job) => job.job_id],
      ['organization', (job) => job.org_id],
      ['stuck in', (job) => job.stuck_status],
    ]);
    return reply;
  }
}
