import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { authLevelFlag, listFlag, listOf, orgFlag, withVariables } from '../../src/cli/flags.ts';
import { limitFlags, limitsOfFlags } from '../../src/cli/limit-flags.ts';

export default class KeysCreate extends BaseCommand {
  static override setsUp = true;
  static override description = 'Create an API key. The command shows the key only once.';
  static override examples = [
    '<%= config.bin %> keys create --name website --scope embed --scope search',
    '<%= config.bin %> keys create --org acme --name nightly --expires 90d --json',
    '<%= config.bin %> keys create --name shop --scope search --allow-bucket products --rate search=60',
  ];
  static override flags = withVariables({
    org: orgFlag,
    name: Flags.string({ description: 'name that describes the purpose of the key', required: true }),
    scope: listFlag('scope of the key; may be given several times (default: embed, search and documents:write)'),
    'auth-level': authLevelFlag('highest privacy level of documents that the key can see (default: 5)'),
    user: Flags.string({ description: 'email or id of the user to whom the key belongs' }),
    expires: Flags.string({ description: 'lifetime, such as 12h or 90d (default: unlimited)' }),
    ...limitFlags,
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(KeysCreate);
    const { name, user, expires } = flags;
    const request = { name, scope: listOf(flags.scope), auth_level: flags['auth-level'], user, expires };
    const named = limitsOfFlags(flags);
    return this.withSession(flags, async (session) => {
      const resolved = named === null ? {} : await session.call('keys.resolveLimits', { limits: named });
      const key = await session.call('keys.create', { ...request, ...resolved });
      this.log(key.key);
      this.logToStderr(`created key ${key.id} (${key.name}): ${key.scopes.join(' ')}. Keep it; it is not shown again.`);
      return key;
    });
  }
}
