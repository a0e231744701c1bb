import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class JobsReprocess extends BaseCommand {
  static override description = 'Repeat the work of a finished job as a new job.';
  static override examples = [
    '<%= config.bin %> jobs reprocess job_01h8',
    '<%= config.bin %> jobs reprocess job_01h8 --org acme --json',
  ];
  static override args = { id: requiredArg('id of the job') };
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(JobsReprocess);
    const job = await this.call(flags, 'jobs.reprocess', { id: args.id });
    await this.showFields(job);
    return job;
  }
}
