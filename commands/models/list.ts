import { BaseCommand } from '../../src/cli/base-command.ts';

export default class ModelsList extends BaseCommand {
  static override setsUp = false;
  static override description =
    'List the models that requests can name.\nWith --json the output is the response of GET /v1/models.';
  static override examples = [
    '<%= config.bin %> models list',
    '<%= config.bin %> models list --json | jq -r ".data[].id"',
  ];

  async run(): Promise<unknown> {
    const { flags } = await this.parse(ModelsList);
    const list = await this.call(flags, 'embedding.models', {});
    await this.showTable('models', list.data, [
      ['model', (model) => model.id],
      ['kind', (model) => model.kind],
      ['dimensions', (model) => `${model.default_dimension}${model.variable_dimensions ? '' : ' (fixed)'}`],
      ['max tokens', (model) => model.max_tokens],
      ['available', (model) => (model.available ? 'yes' : 'no provider')],
      ['status', (model) => model.status ?? '-'],
      ['space', (model) => model.space ?? 'several'],
      ['map', (model) => model.map_version ?? '-'],
      ['score', (model) => model.score?.toFixed(3) ?? '-'],
    ]);
    return list;
  }
}
