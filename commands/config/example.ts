import { BaseCommand } from '../../src/cli/base-command.ts';

export default class ConfigExample extends BaseCommand {
  static override description = 'Print a commented service.yaml that lists every setting with its meaning and default.';
  static override examples = [
    '<%= config.bin %> config example > service.yaml',
    '<%= config.bin %> config example --json',
  ];

  async run(): Promise<unknown> {
    await this.parse(ConfigExample);
    const { renderConfigExample } = await import('../../src/cli/config-example.ts');
    const { listReference } = await import('../../src/platform/settings-reference.ts');
    const { listPage } = await import('../../src/operations/list-page.ts');
    this.log(renderConfigExample().trimEnd());
    const settings = listReference().map(({ path, isGroup, isRequired, ...setting }) => ({
      name: path.join('.').replaceAll('.[]', '[]'),
      ...setting,
      is_group: isGroup,
      is_required: isRequired,
    }));
    return listPage(settings);
  }
}
