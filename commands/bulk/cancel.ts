import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class BulkCancel extends BaseCommand {
  static override description =
    'Cancel a bulk embedding job that is still queued. Exits with 4 if the job is no longer queued.';
  static override examples = [
    '<%= config.bin %> bulk cancel job_01h8',
    '<%= config.bin %> bulk cancel job_01h8 --org acme --json',
  ];
  static override args = { id: requiredArg('id of the job') };
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(BulkCancel);
    const reply = await this.call(flags, 'bulk.cancel', { id: args.id });
    await this.showFields(reply);
    return reply;
  }
}
