import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { withVariables } from '../../src/cli/flags.ts';
import { runWorker } from '../../src/cli/run-worker.ts';

export default class WorkerEmbed extends BaseCommand {
  static override needsProviders = true;
  static override description = 'Run a worker for bulk embedding jobs, until stopped by Ctrl-C or SIGTERM.';
  static override examples = [
    '<%= config.bin %> worker embed',
    '<%= config.bin %> worker embed --concurrency 4 --json',
  ];
  static override flags = withVariables({
    concurrency: Flags.integer({
      description: 'number of jobs at a time (default: the setting workers.embed_concurrency)',
      min: 1,
    }),
  });

  async run(): Promise<void> {
    const { flags } = await this.parse(WorkerEmbed);
    const settings = { workers: { embed_concurrency: flags.concurrency } };
    await this.withAppliance(
      flags,
      (appliance) => runWorker(appliance, appliance.jobs.worker('embed'), { kind: 'embed', json: this.jsonEnabled() }),
      { settings, isService: true },
    );
  }
}
