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
    return this.withAppliance(flags, async ({ embedding: { backends }, projections }) => {
      const { listModels } = await import('../../src/embedding/list-models.ts');
      const models = listModels({ backends, projections });
      await this.showTable('models', models, [
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
      return { object: 'list', data: models };
    });
  }
}
