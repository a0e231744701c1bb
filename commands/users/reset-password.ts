import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, serverUrlFlag, withVariables } from '../../src/cli/flags.ts';

export default class UsersResetPassword extends BaseCommand {
  static override description =
    'Print a link to set a new password. It works once and expires after a day. Nothing changes until the link is used.';
  static override examples = [
    '<%= config.bin %> users reset-password ana@example.com',
    '<%= config.bin %> users reset-password ana@example.com --org acme --url https://service.example.com --json',
  ];
  static override args = { user: requiredArg('email or id of the user') };
  static override flags = withVariables({ org: orgFlag, url: serverUrlFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(UsersResetPassword);
    const { findConsole } = await import('../../src/cli/find-console.ts');
    const console = await findConsole(flags.url, await this.loadSettings(flags));
    const { token, expires_at } = await this.call(flags, 'users.resetPassword', { user: args.user });
    const url = `${console}#reset=${token}`;
    this.log(url);
    this.logToStderr(
      `the link works once and expires at ${expires_at}; send it to ${args.user} only: whoever opens it can sign in as this user`,
    );
    return { url, expires_at };
  }
}
