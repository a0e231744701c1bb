import { BaseCommand } from '../../src/cli/base-command.ts';
import { requiredArg } from '../../src/cli/flags.ts';

export default class ModelsShow extends BaseCommand {
  static override description =
    'Show an installed model, or local/semantic-1: its source, settings, files and licence.';
  static override examples = [
    '<%= config.bin %> models show local/semantic-1',
    '<%= config.bin %> models show local/bge-reranker --json',
  ];
  static override args = { model: requiredArg('name of the model: local/NAME') };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ModelsShow);
    const shown = await this.call(flags, 'embedding.showInstalled', { model: args.model }, { model: 'MODEL' });
    const { prefixes, files, licence, ...view } = shown;
    await this.showFields({ ...view, prompts: JSON.stringify(prefixes) });
    await this.showTable('files', files, [
      ['file', (file) => file.path],
      ['bytes', (file) => file.sizeBytes],
      ['sha256', (file) => file.sha256],
    ]);
    if (licence !== null) this.log(`\n${licence}`);
    return shown;
  }
}
