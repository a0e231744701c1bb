import { Args } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag } from '../../src/cli/flags.ts';
import { AppError, conflict } from '../../src/platform/errors.ts';

export default class BulkCancel extends BaseCommand {
  static override setsUp = false;
  static override description =
    'Cancel a bulk embedding job that is still queued. Exits with 4 if it is not queued any more.';
  static override examples = [
    '<%= config.bin %> bulk cancel job_01h8',
    '<%= config.bin %> bulk cancel job_01h8 --org acme --json',
  ];
  static override args = { id: Args.string({ description: 'id of the job', required: true, ignoreStdin: true }) };
  static override flags = { org: orgFlag };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(BulkCancel);
    return this.withOperator(flags, async ({ sql }, operator) => {
      const { cancelBulkJob } = await import('../../src/bulk/bulk-jobs.ts');
      const reply = await cancelBulkJob(sql, operator, args.id).catch((error: unknown) => {
        // A 400 would count as wrong usage here, and nothing is wrong with the command line.
        if (error instanceof AppError && error.code === 'job_not_queued') throw conflict(error.message, error.code);
        throw error;
      });
      await this.showFields(reply);
      return reply;
    });
  }
}
