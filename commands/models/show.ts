import { Args } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { notFound } from '../../src/platform/errors.ts';

export default class ModelsShow extends BaseCommand {
  static override setsUp = false;
  static override description = 'Show an installed model: its source, settings and files.';
  static override examples = [
    '<%= config.bin %> models show local/multilingual-e5-small',
    '<%= config.bin %> models show local/bge-reranker --json',
  ];
  static override args = {
    model: Args.string({ description: 'name of the model: local/NAME', required: true, ignoreStdin: true }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ModelsShow);
    return this.withAppliance(flags, async ({ sql, config }) => {
      const { selectLocalModel } = await import('../../src/local-models/store.ts');
      const { folderOf } = await import('../../src/local-models/model-folders.ts');
      const model = await selectLocalModel(sql, args.model);
      if (model === null) throw notFound('model', args.model);
      const { spec, revision, installedAt } = model;
      const { name, kind, source, variant, dimension, pooling, prefixes, files } = spec;
      const view = {
        ...{ name, kind, source, revision, variant, dimension, max_tokens: spec.maxTokens, pooling },
        installed_at: installedAt.toISOString(),
        folder: folderOf(config.dataDir, name, revision),
        bytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      };
      await this.showFields({ ...view, prompts: JSON.stringify(prefixes) });
      await this.showTable('files', files, [
        ['file', (file) => file.path],
        ['bytes', (file) => file.sizeBytes],
        ['sha256', (file) => file.sha256],
      ]);
      return { ...view, prefixes, files };
    });
  }
}
