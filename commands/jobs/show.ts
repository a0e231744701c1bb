import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class JobsShow extends BaseCommand {
  static override description = 'Show a job: its state, file, times and error.';
  static override examples = [
    '<%= config.bin %> jobs show job_01h8',
    '<%= config.bin %> jobs show job_01h8 --org acme --json',
  ];
  static override args = { id: requiredArg('id of the job') };
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(JobsShow);
    const job = await this.call(flags, 'jobs.show', { id: args.id });
    await this.showFields(job);
    return job;
  }
}
