import { Args } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';

export default class ProjectionsShow extends BaseCommand {
  static override setsUp = false;
  static override description = 'Show a map and the figures that were measured on held-out texts.';
  static override examples = ['<%= config.bin %> projections show 3', '<%= config.bin %> projections show 3 --json'];
  static override args = {
    version: Args.integer({
      description: 'version of the map, as in "projections list"',
      required: true,
      min: 1,
      ignoreStdin: true,
    }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ProjectionsShow);
    return this.withAppliance(flags, async ({ sql }) => {
      const { findMap } = await import('../../src/projection/manage-maps.ts');
      const { viewOfMap } = await import('../../src/projection/schema.ts');
      const { showScores } = await import('../../src/cli/projection-scores.ts');
      const map = await findMap(sql, args.version);
      await this.showFields(viewOfMap(map));
      await showScores(map.scores, (noun, rows, columns) => this.showTable(noun, rows, columns));
      return { ...viewOfMap(map), scores: map.scores };
    });
  }
}
