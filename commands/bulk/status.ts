import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class BulkStatus extends BaseCommand {
  static override description = 'Show the state and the progress of a bulk embedding job.';
  static override examples = [
    '<%= config.bin %> bulk status job_01h8',
    '<%= config.bin %> bulk status job_01h8 --org acme --json',
  ];
  static override args = { id: requiredArg('id of the job') };
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(BulkStatus);
    const job = await this.call(flags, 'bulk.status', { id: args.id });
    const { metadata, error, ...rest } = job;
    await this.showFields({
      ...rest,
      ...metadata,
      ...(error ? { error: `${error.category}: ${error.message}` } : {}),
    });
    return job;
  }
}
