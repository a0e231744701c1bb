import { Args } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { yesFlag } from '../../src/cli/flags.ts';

export default class ProjectionsActivate extends BaseCommand {
  static override setsUp = false;
  static override description =
    'Use a fitted map in place of the present map of its model. Running processes use it within 30 seconds.';
  static override examples = [
    '<%= config.bin %> projections activate 3',
    '<%= config.bin %> projections activate 3 --yes --json',
  ];
  static override args = {
    version: Args.integer({
      description: 'version of the map, as in "projections list"',
      required: true,
      min: 1,
      ignoreStdin: true,
    }),
  };
  static override flags = { yes: yesFlag };

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
