import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';
import { renderLimits } from '../../src/cli/limit-flags.ts';

export default class KeysList extends BaseCommand {
  static override description = 'List the API keys of an organization, newest first, revoked ones included.';
  static override examples = ['<%= config.bin %> keys list', '<%= config.bin %> keys list --org acme --json'];
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(KeysList);
    const page = await this.call(flags, 'keys.list', {});
    await this.showTable('keys', page.data, [
      ['id', (key) => key.id],
      ['name', (key) => key.name, 'may be cut'],
      ['level', (key) => key.auth_level],
      ['user', (key) => key.user_id],
      ['last used', (key) => key.last_used_at],
      ['expires', (key) => key.expires_at],
      ['revoked', (key) => key.revoked_at],
      ['limits', (key) => renderLimits(key.limits), 'may be cut'],
      ['scopes', (key) => key.scopes.join(' '), 'may be cut'],
    ]);
    return page;
  }
}
