import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class JobsCancel extends BaseCommand {
  static override description = 'Cancel a queued job, or with --force also a job in progress.';
  static override examples = [
    '<%= config.bin %> jobs cancel job_01h8',
    '<%= config.bin %> jobs cancel job_01h8 --force --json',
  ];
  static override args = { id: requiredArg('id of the job') };
  static override flags = withVariables({
    org: orgFlag,
    force: Flags.boolean({ description: 'also cancel a job in progress' }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(JobsCancel);
    const reply = await this.call(flags, 'jobs.cancel', { id: args.id, force: flags.force });
    this.log(`cancelled ${args.id}`);
    return reply;
  }
}
