import { BaseCommand } from '../../src/cli/base-command.ts';

export default class ModelsList extends BaseCommand {
  static override description =
    'List the models that requests can name, and the models installed on this host with their memory.\nWith --json the output is the response of GET /v1/models.';
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
    const installed = await this.call(flags, 'embedding.installed', {});
    if (installed.length > 0 && !this.jsonEnabled()) {
      const { describeLocalModels } = await import('../../src/cli/describe-local-models.ts');
      const { dataDir } = await this.loadSettings(flags);
      const described = await this.untilDone((signal) => describeLocalModels(installed, dataDir, signal));
      await this.showTable('local models', described, [
        ['local model', (model) => model.name],
        ['kind', (model) => model.kind],
        ['variant', (model) => model.variant],
        ['on disk', (model) => model.disk],
        ['in memory', (model) => model.memory],
        ['source', (model) => model.source],
      ]);
    }
    return list;
  }
}
