import type { Appliance } from '../appliance/appliance.ts';
import type { Service } from '../platform/lifecycle.ts';
import { lowerPriority } from '../platform/lower-priority.ts';
import { note, printJson } from './output.ts';

/**
 * Run a worker until the process stops, and return jobs of killed workers to the queue. With `json`, report the
 * worker's start on stdout, otherwise on stderr.
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
  // Lower the priority only after opening the database, because an embedded database also serves requests.
  if (!lowerPriority()) appliance.logger.debug('the priority of this process was not lowered');
  // Bulk jobs and batches don't use the index, whose library takes tens of megabytes.
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
