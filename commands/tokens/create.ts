import { Flags } from '@oclif/core';
import { ROLES } from '../../src/access/caller.ts';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';

export default class TokensCreate extends BaseCommand {
  static override setsUp = true;
  static override description =
    'Create a token with which a user calls the API. Adds the user if the email is unknown.';
  static override examples = [
    '<%= config.bin %> tokens create --user ana@example.com --ttl 8h',
    '<%= config.bin %> tokens create --org acme --user ana@example.com --role admin --json',
  ];
  static override flags = withVariables({
    org: orgFlag,
    user: Flags.string({ description: 'email of the user', required: true }),
    role: Flags.option({ options: ROLES, description: 'role of the user if one is added (default: member)' })(),
    ttl: Flags.string({ description: 'lifetime of the token, such as 30m or 1h', default: '1h' }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(TokensCreate);
    const { user, role, ttl } = flags;
    const token = await this.call(flags, 'keys.createToken', { user, role, ttl }, { email: '--user' });
    this.log(token.token);
    this.logToStderr(`created the token ${token.id} for ${user}; it is valid until ${token.expires_at}`);
    return token;
  }
}
