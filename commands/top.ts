import { Flags } from '@oclif/core';
import { BaseCommand } from '../src/cli/base-command.ts';
import { withVariables } from '../src/cli/flags.ts';

export default class Top extends BaseCommand {
  static override description =
    'Show the load of the installation on one screen: queues, workers, throughput, requests, cache and providers.\n' +
    'Requests, cache and providers are those of the server that runs on the data directory. Without a terminal, the ' +
    'command prints one reading as tables.';
  static override examples = [
    '<%= config.bin %> top --interval 5',
    '<%= config.bin %> top --url http://127.0.0.1:8080 --json',
  ];
  static override flags = withVariables({
    url: Flags.string({
      description: 'address of the server whose metrics are shown (default: the server of the data directory)',
    }),
    interval: Flags.integer({ description: 'seconds between two readings', default: 1, min: 1, max: 3600 }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(Top);
    const { parseRequest } = await import('../src/cli/parse-request.ts');
    const { z } = await import('zod');
    const { url } = parseRequest(z.object({ url: z.url({ protocol: /^https?$/ }).optional() }), { url: flags.url });
    const { topOnce, topOnScreen } = await import('../src/cli/watch-top.ts');
    const { findOwnServer, noServer } = await import('../src/cli/own-server.ts');
    const { hasScreen } = await import('../src/cli/output.ts');
    const isScreen = hasScreen() && !this.jsonEnabled();
    const { dataDir } = await this.loadSettings(flags);
    return this.withSession(
      flags,
      async (session, signal) => {
        const locate = async () => {
          const found = url ?? (await findOwnServer(dataDir));
          if (found === null) throw noServer(dataDir);
          return found;
        };
        const run = { session, signal, locate, intervalMs: flags.interval * 1000 };
        if (isScreen) return topOnScreen(run, process);
        const snapshot = await topOnce(run);
        const { renderTop } = await import('../src/cli/top-table.ts');
        this.log(renderTop(snapshot));
        return snapshot;
      },
      // Log lines on the terminal would break the screen.
      { settings: isScreen && process.stderr.isTTY ? { log_level: 'silent' } : {} },
    );
  }
}
