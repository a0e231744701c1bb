import { BaseCommand } from '../../src/cli/base-command.ts';

export default class ConfigCheck extends BaseCommand {
  static override description = 'Check the settings, and print the value and origin of each. Secrets are shown as ***.';
  static override examples = [
    '<%= config.bin %> config check',
    'SERVICE_CONFIG=/etc/service/service.yaml <%= config.bin %> config check --json',
  ];

  async run(): Promise<unknown> {
    const { flags, raw } = await this.parse(ConfigCheck);
    const { listSettings, loadConfig } = await import('../../src/platform/config.ts');
    const { checkEmbeddingSettings } = await import('../../src/embedding/open-embedding.ts');
    const { checkRerankSettings } = await import('../../src/rerank/open-rerankers.ts');
    // For a flag that wasn't typed, the value comes from the environment, and the report says so.
    const isTyped = raw.some((token) => token.type === 'flag' && token.flag === 'data-dir');
    const overrides = isTyped ? { data_dir: flags['data-dir'] } : {};
    const settings = listSettings({ overrides });
    const config = loadConfig({ overrides });
    const notes = checkEmbeddingSettings(config);
    checkRerankSettings(config);
    for (const warning of [...config.warnings, ...notes]) this.logToStderr(`warning: ${warning}`);
    await this.showTable('settings', settings, [
      ['setting', (setting) => setting.name],
      ['value', (setting) => (setting.value === null ? null : String(setting.value)), 'may be cut'],
      ['from', (setting) => (setting.value === null ? null : setting.from)],
    ]);
    return { settings };
  }
}
