import { Flags } from '@oclif/core';
import { BaseCommand } from '../src/cli/base-command.ts';
import { withVariables } from '../src/cli/flags.ts';
import { printJson } from '../src/cli/output.ts';

export default class Reaper extends BaseCommand {
  static override needsProviders = true;
  static override description =
    'Queue the jobs of dead workers again and remove deleted or unused data, until stopped by Ctrl-C or SIGTERM.';
  static override examples = ['<%= config.bin %> reaper --every 30s', '<%= config.bin %> reaper --once --json'];
  static override flags = withVariables({
    every: Flags.string({ description: 'time between two rounds, such as 45s, 5m or 1h', default: '60s' }),
    once: Flags.boolean({ description: 'do one round, then exit' }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(Reaper);
    const { parseDuration } = await import('../src/platform/duration.ts');
    const everyMs = parseDuration(flags.every, 'every');
    if (flags.once) {
      return this.withAppliance(flags, async ({ chores }, signal) => {
        const { doChores } = await import('../src/platform/chores.ts');
        const done: string[] = [];
        await doChores(chores(), signal, ({ name }) => {
          done.push(name);
          this.log(`done: ${name}`);
        });
        return { done };
      });
    }
    await this.withAppliance(
      flags,
      async (appliance) => {
        const { logger, reaper } = appliance;
        const { runServices } = await import('../src/platform/lifecycle.ts');
        const { metricsListener } = await import('../src/appliance/metrics-listener.ts');
        await runServices([metricsListener(appliance), reaper({ everyMs })], {
          logger,
          onReady: () => {
            if (this.jsonEnabled()) printJson({ every_seconds: everyMs / 1000 });
            else this.log(`reaping every ${flags.every}`);
          },
        });
      },
      { isService: true },
    );
    return undefined;
  }
}
