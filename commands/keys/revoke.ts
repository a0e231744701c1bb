import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { keyArg, orgFlag, withVariables, yesFlag } from '../../src/cli/flags.ts';

export default class KeysRevoke extends BaseCommand {
  static override description = 'Revoke an API key: it is refused from now on.';
  static override examples = [
    '<%= config.bin %> keys revoke 8h2kq0za',
    '<%= config.bin %> keys revoke 8h2kq0za --yes --json',
  ];
  static override args = { key: keyArg };
  static override flags = withVariables({ org: orgFlag, yes: yesFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(KeysRevoke);
    return this.withSession(flags, async (session, signal) => {
      const { id, name } = await session.call('keys.find', { key: args.key });
      await confirm(`Requests with the key ${id} (${name}) will be refused. Revoke it?`, flags.yes, signal);
      const revoked = await session.call('keys.revoke', { id });
      this.log(`revoked key ${id} (${name})`);
      return revoked;
    });
  }
}
