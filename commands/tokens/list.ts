import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';

export default class TokensList extends BaseCommand {
  static override description =
    'List the assistants and other clients of the tool server that people gave access to, newest first.\n' +
    'Tokens from "tokens create" are not listed, because the service keeps no record of them.';
  static override examples = ['<%= config.bin %> tokens list', '<%= config.bin %> tokens list --org acme --json'];
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(TokensList);
    const page = await this.call(flags, 'keys.listGrants', {});
    await this.showTable('connected clients', page.data, [
      ['id', (grant) => grant.id],
      ['client', (grant) => grant.client, 'may be cut'],
      ['given by', (grant) => grant.given_by, 'may be cut'],
      ['last used', (grant) => grant.last_used_at],
      ['expires', (grant) => grant.expires_at],
      ['scopes', (grant) => grant.scopes.join(' '), 'may be cut'],
    ]);
    return page;
  }
}
