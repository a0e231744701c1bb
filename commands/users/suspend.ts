import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { orgFlag, requiredArg, withVariables, yesFlag } from '../../src/cli/flags.ts';

export default class UsersSuspend extends BaseCommand {
  static override description =
    'Suspend a user: within a second, all tokens and keys of the user are refused until you resume the user.';
  static override examples = [
    '<%= config.bin %> users suspend ana@example.com',
    '<%= config.bin %> users suspend ana@example.com --org acme --yes --json',
  ];
  static override args = { user: requiredArg('email or id of the user') };
  static override flags = withVariables({ org: orgFlag, yes: yesFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(UsersSuspend);
    return this.withSession(flags, async (session, signal) => {
      await confirm(`Requests of ${args.user} will be refused. Suspend the user?`, flags.yes, signal);
      const user = await session.call('users.suspend', { user: args.user });
      this.log(`suspended ${user.email} (${user.id})`);
      return user;
    });
  }
}
