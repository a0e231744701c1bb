import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag } from '../../src/cli/flags.ts';
import { listPage } from '../../src/cli/list-page.ts';

export default class KeysList extends BaseCommand {
  static override setsUp = false;
  static override description = 'List the API keys of an organization, newest first, revoked ones included.';
  static override examples = ['<%= config.bin %> keys list', '<%= config.bin %> keys list --org acme --json'];
  static override flags = { org: orgFlag };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(KeysList);
    return this.withOperator(flags, async ({ sql }, operator) => {
      const { listKeys } = await import('../../src/access/keys.ts');
      const { LIST_ROWS_MAX } = await import('../../src/access/schema.ts');
      const keys = await listKeys(sql, operator);
      await this.showTable('keys', keys, [
        ['id', (key) => key.id],
        ['name', (key) => key.name, 'may be cut'],
        ['level', (key) => key.auth_level],
        ['user', (key) => key.user_id],
        ['last used', (key) => key.last_used_at],
        ['expires', (key) => key.expires_at],
        ['revoked', (key) => key.revoked_at],
        ['scopes', (key) => key.scopes.join(' '), 'may be cut'],
      ]);
      return listPage(keys, LIST_ROWS_MAX);
    });
  }
}
