import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { mapVersionArg, withVariables, yesFlag } from '../../src/cli/flags.ts';

export default class ProjectionsActivate extends BaseCommand {
  static override description =
    'Use a fitted map in place of the present map of its model. Running processes use it within 30 seconds.';
  static override examples = [
    '<%= config.bin %> projections activate 3',
    '<%= config.bin %> projections activate 3 --yes --json',
  ];
  static override args = { version: mapVersionArg };
  static override flags = withVariables({ yes: yesFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ProjectionsActivate);
    const { version } = args;
    return this.withSession(flags, async (session, signal) => {
      const { model } = await session.call('projections.show', { version });
      const effect = `From now on the vectors of ${model} go through map ${version}`;
      await confirm(`${effect}. Use it?`, flags.yes, signal);
      const map = await session.call('projections.activate', { version });
      this.log(`map ${map.version} of ${map.model} is in use now`);
      return map;
    });
  }
}
