import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { withVariables } from '../../src/cli/flags.ts';

export default class ProjectionsList extends BaseCommand {
  static override description = 'List the maps that were fitted, newest first, and show which of them are in use.';
  static override examples = [
    '<%= config.bin %> projections list',
    '<%= config.bin %> projections list --model vendor-a/text-embedding-3-small --json',
  ];
  static override flags = withVariables({
    model: Flags.string({ description: 'id of a model, to list only its maps' }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(ProjectionsList);
    const page = await this.call(flags, 'projections.list', { model: flags.model });
    await this.showTable('maps', page.data, [
      ['version', (map) => map.version],
      ['model', (map) => map.model],
      ['space', (map) => map.space],
      ['status', (map) => map.status],
      ['score', (map) => map.score?.toFixed(3)],
      ['grade', (map) => map.grade],
      ['pairs', (map) => map.pairs],
      ['created', (map) => map.created_at],
    ]);
    return page;
  }
}
