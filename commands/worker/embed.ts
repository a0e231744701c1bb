import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { runWorker } from '../../src/cli/run-worker.ts';

export default class WorkerEmbed extends BaseCommand {
  static override setsUp = false;
  static override description = 'Work on bulk embedding jobs until it is told to stop (Ctrl-C, SIGTERM).';
  static override examples = [
    '<%= config.bin %> worker embed',
    '<%= config.bin %> worker embed --concurrency 4 --json',
  ];
  static override flags = {
    concurrency: Flags.integer({
      description: 'jobs at a time (default: workers.embed_concurrency)',
      min: 1,
      env: 'SERVICE_CONCURRENCY',
    }),
  };

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
