import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag } from '../../src/cli/flags.ts';

export default class ConsoleLink extends BaseCommand {
  static override setsUp = false;
  static override description =
    'Print a link that signs one browser in to the web console as the operator. It works once, for a quarter of an hour.';
  static override examples = [
    '<%= config.bin %> console link',
    '<%= config.bin %> console link --org acme --url https://service.example.com --json',
  ];
  static override flags = {
    org: orgFlag,
    url: Flags.string({
      description: 'address of the server (default: base_url of the settings, or the server of the data directory)',
      env: 'SERVICE_URL',
    }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(ConsoleLink);
    const { parseRequest } = await import('../../src/cli/parse-request.ts');
    const { z } = await import('zod');
    const { url } = parseRequest(z.object({ url: z.url({ protocol: /^https?$/ }).optional() }), { url: flags.url });
    const { consoleUrl, signInUrl } = await import('../../src/cli/console-link.ts');
    const { findOwnServer, noServer } = await import('../../src/cli/own-server.ts');
    const config = await this.loadSettings(flags);
    const server = url ?? config.baseUrl ?? (await findOwnServer(config.dataDir));
    if (server === null) throw noServer(config.dataDir);
    const link = await this.call(flags, 'users.consoleLink', {});
    const address = signInUrl(consoleUrl(server), link);
    this.log(address);
    this.logToStderr(`the link works once and expires at ${link.expires_at}; do not share it`);
    return { url: address, expires_at: link.expires_at };
  }
}
