import type { Appliance } from '../appliance/appliance.ts';
import type { Service } from '../platform/lifecycle.ts';
import { lowerPriority } from '../platform/lower-priority.ts';
import { note, printJson } from './output.ts';

/**
 * Run a worker until the process stops, and return jobs of killed workers to the queue. Report the start of the worker
 * on stdout with `json`, otherwise on stderr.
 */
export async function runWorker(
  appliance: Appliance,
  worker: Service,
  options: { readonly kind: 'embed' | 'ingest'; readonly json: boolean },
): Promise<void> {
  const { runServices } = await import('../platform/lifecycle.ts');
  const { metricsListener } = await import('../appliance/metrics-listener.ts');
  const { embedConcurrency, ingestConcurrency } = appliance.config.workers;
  const concurrency = options.kind === 'embed' ? embedConcurrency : ingestConcurrency;
  // Lower the priority only once the database is open, since an embedded database also serves requests.
  if (!lowerPriority()) appliance.logger.debug('the priority of this process was not lowered');
  // Bulk jobs and batches touch no index, and the library of the index takes tens of megabytes.
  if (options.kind === 'ingest') await appliance.search.prepare();
  appliance.objects.prepare();
  await appliance.embedding.prepare();
  await runServices([metricsListener(appliance), appliance.jobs.recovery(), worker], {
    logger: appliance.logger,
    onReady: () => {
      if (options.json) printJson({ kind: options.kind, concurrency, pid: process.pid });
      else note(`${worker.name} takes up to ${concurrency} jobs at a time`);
    },
  });
}
