import { Args } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag } from '../../src/cli/flags.ts';

export default class JobsShow extends BaseCommand {
  static override setsUp = false;
  static override description = 'Show a job: its state, file, times and error.';
  static override examples = [
    '<%= config.bin %> jobs show job_01h8',
    '<%= config.bin %> jobs show job_01h8 --org acme --json',
  ];
  static override args = {
    id: Args.string({ description: 'id of the job', required: true, ignoreStdin: true }),
  };
  static override flags = { org: orgFlag };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(JobsShow);
    const job = await this.call(flags, 'jobs.show', { id: args.id });
    await this.showFields(job);
    return job;
  }
}
