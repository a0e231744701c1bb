import { Args } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag } from '../../src/cli/flags.ts';

export default class BulkCancel extends BaseCommand {
  static override setsUp = false;
  static override description =
    'Cancel a bulk embedding job that is still queued. Exits with 4 if the job is no longer queued.';
  static override examples = [
    '<%= config.bin %> bulk cancel job_01h8',
    '<%= config.bin %> bulk cancel job_01h8 --org acme --json',
  ];
  static override args = { id: Args.string({ description: 'id of the job', required: true, ignoreStdin: true }) };
  static override flags = { org: orgFlag };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(BulkCancel);
    const reply = await this.call(flags, 'bulk.cancel', { id: args.id });
    await this.showFields(reply);
    return reply;
  }
}
