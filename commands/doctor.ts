import { Flags } from '@oclif/core';
import { z } from 'zod';
import { BaseCommand } from '../src/cli/base-command.ts';
import type { Check } from '../src/cli/doctor.ts';
import { EXIT } from '../src/cli/exit-codes.ts';
import { withVariables } from '../src/cli/flags.ts';
import { asTyped, paint } from '../src/cli/output.ts';
import { parseRequest } from '../src/cli/parse-request.ts';
import type { Config } from '../src/platform/config.ts';
import { untilInterrupted } from '../src/platform/lifecycle.ts';
import type { Logger } from '../src/platform/logger.ts';

const MARKS = {
  ok: ['green', '✔'],
  warning: ['yellow', '!'],
  down: ['red', '✘'],
  'not configured': ['dim', '–'],
} as const;

export default class Doctor extends BaseCommand {
  static override setsUp = true;
  static override needsProviders = true;
  static override description =
    'Check every part of the installation and print one line for each. Exits with 5 if a part is down.\n' +
    'Lines that begin with ! warn of problems to come: waiting jobs without a worker, a missing reaper, a disk that ' +
    'is filling up, a default model that matches words only, an alias whose models cannot be compared.';
  static override examples = [
    '<%= config.bin %> doctor',
    '<%= config.bin %> doctor --data-dir /var/lib/service --json',
    '<%= config.bin %> doctor --mcp https://mcp.example.com/mcp',
  ];
  static override flags = withVariables({
    mcp: Flags.string({
      description: 'address of the tool server: sign in to it as an assistant would, and check nothing else',
    }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(Doctor);
    const config = await this.loadSettings(flags);
    const logger = await this.openCommandLogger(config);
    return untilInterrupted(async (signal) => {
      const checks: Check[] = [];
      for await (const check of await this.#examine(flags, config, logger, signal)) {
        checks.push(check);
        const [colour, mark] = MARKS[check.status];
        this.log(`${paint(colour, mark)} ${check.name}: ${asTyped(check.detail)}`);
      }
      const healthy = checks.every((check) => check.status !== 'down');
      if (!healthy) process.exitCode = EXIT.dependency;
      return { healthy, checks };
    });
  }

  async #examine(
    flags: { readonly mcp?: string | undefined; readonly 'data-dir'?: string | undefined },
    config: Config,
    logger: Logger,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Check>> {
    const { mcp } = parseRequest(z.object({ mcp: z.url({ protocol: /^https?$/ }).optional() }), { mcp: flags.mcp });
    if (mcp === undefined) {
      const { examine } = await import('../src/cli/doctor.ts');
      return examine(config, logger, signal);
    }
    const { examineToolServer } = await import('../src/cli/doctor-tool-server.ts');
    return examineToolServer(mcp, () => this.call(flags, 'users.consoleLink', {}));
  }
}
