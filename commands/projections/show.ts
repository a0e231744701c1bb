import { BaseCommand } from '../../src/cli/base-command.ts';
import { mapVersionArg } from '../../src/cli/flags.ts';

export default class ProjectionsShow extends BaseCommand {
  static override description = 'Show a map and its measurements on held-out texts.';
  static override examples = ['<%= config.bin %> projections show 3', '<%= config.bin %> projections show 3 --json'];
  static override args = { version: mapVersionArg };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ProjectionsShow);
    const map = await this.call(flags, 'projections.show', { version: args.version });
    const { showScores } = await import('../../src/cli/projection-scores.ts');
    const { scores, ...view } = map;
    await this.showFields(view);
    await showScores(scores, (noun, rows, columns) => this.showTable(noun, rows, columns));
    return map;
  }
}
