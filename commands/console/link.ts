import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, serverUrlFlag, withVariables } from '../../src/cli/flags.ts';

export default class ConsoleLink extends BaseCommand {
  static override description =
    'Print a link that signs one browser in to the web console as the operator. It works once and expires after 15 minutes.';
  static override examples = [
    '<%= config.bin %> console link',
    '<%= config.bin %> console link --org acme --url https://service.example.com --json',
  ];
  static override flags = withVariables({
    org: orgFlag,
    url: serverUrlFlag,
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(ConsoleLink);
    const { signInUrl } = await import('../../src/cli/console-link.ts');
    const { findConsole } = await import('../../src/cli/find-console.ts');
    const console = await findConsole(flags.url, await this.loadSettings(flags));
    const link = await this.call(flags, 'users.consoleLink', {});
    const address = signInUrl(console, link);
    this.log(address);
    this.logToStderr(`the link works once and expires at ${link.expires_at}; do not share it`);
    return { url: address, expires_at: link.expires_at };
  }
}
