import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { orgFlag, requiredArg, withVariables, yesFlag } from '../../src/cli/flags.ts';
import { oneLine } from '../../src/platform/printable.ts';

export default class JobsDelete extends BaseCommand {
  static override description = 'Delete a job that is not in progress. Its document stays.';
  static override examples = [
    '<%= config.bin %> jobs delete job_01h8',
    '<%= config.bin %> jobs delete job_01h8 --yes --json',
  ];
  static override args = { id: requiredArg('id of the job') };
  static override flags = withVariables({ org: orgFlag, yes: yesFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(JobsDelete);
    return this.withSession(flags, async (session, signal) => {
      const { id, file_name, status } = await session.call('jobs.show', { id: args.id });
      await confirm(
        `This deletes the job ${id} (${oneLine(file_name)}, ${status}) and cannot be undone. Delete it?`,
        flags.yes,
        signal,
      );
      const deleted = await session.call('jobs.remove', { id });
      this.log(`deleted ${id}`);
      return deleted;
    });
  }
}
