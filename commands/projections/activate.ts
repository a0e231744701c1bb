import { Args } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';

export default class ProjectionsActivate extends BaseCommand {
  static override setsUp = false;
  static override description =
    'Use a fitted map in place of the present map of its model. Running processes use it within 30 seconds.';
  static override examples = [
    '<%= config.bin %> projections activate 3',
    '<%= config.bin %> projections activate 3 --json',
  ];
  static override args = {
    version: Args.integer({
      description: 'version of the map, as in "projections list"',
      required: true,
      min: 1,
      ignoreStdin: true,
    }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ProjectionsActivate);
    const map = await this.call(flags, 'projections.activate', { version: args.version });
    this.log(`map ${map.version} of ${map.model} is in use now`);
    return map;
  }
}
