import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, serverUrlFlag, withVariables } from '../../src/cli/flags.ts';

export default class UsersInvite extends BaseCommand {
  static override description =
    'Print an invitation link with which a person signs in as this user: with a password, or at the identity provider. It works once and expires after 7 days.';
  static override examples = [
    '<%= config.bin %> users invite ana@example.com',
    '<%= config.bin %> users invite ana@example.com --org acme --url https://service.example.com --json',
  ];
  static override args = { user: requiredArg('email or id of the user') };
  static override flags = withVariables({ org: orgFlag, url: serverUrlFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(UsersInvite);
    const { findConsole } = await import('../../src/cli/find-console.ts');
    const console = await findConsole(flags.url, await this.loadSettings(flags));
    const { token, expires_at } = await this.call(flags, 'users.invite', { user: args.user });
    const url = `${console}#invitation=${token}`;
    this.log(url);
    this.logToStderr(
      `the link works once and expires at ${expires_at}; send it to ${args.user} only: whoever opens it becomes this user`,
    );
    return { url, expires_at };
  }
}
