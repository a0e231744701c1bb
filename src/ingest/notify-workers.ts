import type { JobNotifier } from '../jobs/notifier.ts';
import type { Logger } from '../platform/logger.ts';

/** Notify ingest workers of queued jobs. A lost notification is harmless, since they also sweep for jobs. */
export async function notifyIngestWorkers(notifier: JobNotifier, logger: Logger): Promise<void> {
  await notifier
    .notifyQueued('ingest')
    .catch((error) => logger.debug({ err: error }, 'notification of a queued job was lost'));
}
