import { Args, Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag } from '../../src/cli/flags.ts';

export default class JobsCancel extends BaseCommand {
  static override setsUp = false;
  static override description = 'Cancel a queued job, or with --force also a job in progress.';
  static override examples = [
    '<%= config.bin %> jobs cancel job_01h8',
    '<%= config.bin %> jobs cancel job_01h8 --force --json',
  ];
  static override args = {
    id: Args.string({ description: 'id of the job', required: true, ignoreStdin: true }),
  };
  static override flags = {
    org: orgFlag,
    force: Flags.boolean({ description: 'also cancel a job in progress', env: 'SERVICE_FORCE' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(JobsCancel);
    return this.withOperator(flags, async ({ jobs }, operator) => {
      const { cancelJob } = await import('../../src/jobs/operations.ts');
      const { conflict } = await import('../../src/platform/errors.ts');
      const reply = await cancelJob(jobs.operations, operator, args.id, { force: flags.force });
      if (reply.detail !== undefined) throw conflict(reply.detail, 'job_already_finished');
      this.log(`cancelled ${args.id}`);
      return reply;
    });
  }
}
