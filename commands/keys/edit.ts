import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { authLevelFlag, keyArg, listFlag, listOf, orgFlag, withVariables } from '../../src/cli/flags.ts';
import { limitFlags, limitsOfFlags, renderLimits } from '../../src/cli/limit-flags.ts';
import { invalidRequest } from '../../src/platform/errors.ts';

export default class KeysEdit extends BaseCommand {
  static override description =
    'Change the name, the scopes, the limits or the expiry of an API key.\nThe change takes effect within a second. Values without a flag stay as they are.';
  static override examples = [
    '<%= config.bin %> keys edit shop --quota embed=100000 --rate search=60',
    '<%= config.bin %> keys edit 8h2kq0za --no-limits --expires never --json',
  ];
  static override args = { key: keyArg };
  static override flags = withVariables({
    org: orgFlag,
    name: Flags.string({ description: 'new name' }),
    scope: listFlag('scope that replaces all present scopes of the key; may be given several times'),
    'auth-level': authLevelFlag('highest privacy level of documents that the key can see'),
    expires: Flags.string({ description: 'lifetime from now, such as 90d, or never' }),
    ...limitFlags,
    'no-limits': Flags.boolean({ description: 'remove all limits except those that other flags set' }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(KeysEdit);
    const { name, expires } = flags;
    const named = limitsOfFlags(flags);
    const scope = listOf(flags.scope);
    const level = flags['auth-level'];
    const isEmpty = [name, level, expires, named ?? undefined, scope[0]].every((value) => value === undefined);
    if (isEmpty && !flags['no-limits']) throw invalidRequest('give at least one flag that names a change', 'flags');
    return this.withSession(flags, async (session) => {
      const before = await session.call('keys.find', { key: args.key });
      const given = named && (await session.call('keys.resolveLimits', { limits: named })).limits;
      const kept = flags['no-limits'] ? null : before.limits;
      const key = await session.call('keys.edit', {
        id: before.id,
        name,
        scope,
        auth_level: level,
        expires: expires === 'never' ? null : expires,
        limits: given || flags['no-limits'] ? { ...kept, ...given } : undefined,
      });
      const limits = renderLimits(key.limits) || 'no limits of its own';
      this.log(`${key.id} (${key.name}): ${key.scopes.join(' ')}; ${limits}`);
      return key;
    });
  }
}
