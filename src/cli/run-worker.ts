import type { Appliance } from '../appliance/appliance.ts';
import type { Service } from '../platform/lifecycle.ts';
import { note, printJson } from './output.ts';

/**
 * Run a worker until the process is told to stop, and bring back jobs of others that were killed. Once it takes jobs it
 * says so: with `json` on stdout, else on stderr.
 */
export async function runWorker(
  appliance: Appliance,
  worker: Service,
  options: { readonly kind: 'embed' | 'ingest'; readonly json: boolean },
): Promise<void> {
  const { runServices } = await import('../platform/lifecycle.ts');
  const { embedConcurrency, ingestConcurrency } = appliance.config.workers;
  const concurrency = options.kind === 'embed' ? embedConcurrency : ingestConcurrency;
  await appliance.embedding.prepare();
  await runServices([appliance.jobs.recovery(), worker], {
    logger: appliance.logger,
    onReady: () => {
      if (options.json) printJson({ kind: options.kind, concurrency, pid: process.pid });
      else note(`${worker.name} takes up to ${concurrency} jobs at a time`);
    },
  });
}
