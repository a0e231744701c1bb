import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { mapVersionArg, withVariables, yesFlag } from '../../src/cli/flags.ts';

export default class ProjectionsRetire extends BaseCommand {
  static override description = 'Retire a map for good. If it is in use, the vectors of its model become native again.';
  static override examples = [
    '<%= config.bin %> projections retire 3',
    '<%= config.bin %> projections retire 3 --yes --json',
  ];
  static override args = { version: mapVersionArg };
  static override flags = withVariables({ yes: yesFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ProjectionsRetire);
    return this.withSession(flags, async (session, signal) => {
      const { model, status } = await session.call('projections.show', { version: args.version });
      const effect = status === 'active' ? `; ${model} then gives native vectors again` : '';
      await confirm(`This retires map ${args.version} for good${effect}. Retire it?`, flags.yes, signal);
      const map = await session.call('projections.retire', { version: args.version });
      this.log(`map ${map.version} of ${map.model} is retired`);
      return map;
    });
  }
}
