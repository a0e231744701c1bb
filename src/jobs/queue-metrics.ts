import type { Metrics } from '../platform/metrics.ts';
import { openPolledGauges } from '../platform/polled-gauges.ts';
import type { Sql } from '../platform/postgres.ts';
import { readLeaseAges, readQueueDepths } from './queue-store.ts';

const QUERY_MS_MAX = 2_000;

/** Define the metrics of the installation's queues and leases. All processes report the same values. */
export function openQueueMetrics({ registry }: Pick<Metrics, 'registry'>, sql: Sql): void {
  const read = async () => {
    const limited = sql.limited({ ms: QUERY_MS_MAX });
    const [queues, leases] = await Promise.all([readQueueDepths(limited), readLeaseAges(limited)]);
    return { queues, leases };
  };
  const byQueue = ['kind', 'priority'];
  openPolledGauges(registry, 'queues', read, [
    {
      name: 'service_jobs_queued',
      labelNames: byQueue,
      help: 'Queued jobs of the installation, those not yet due included.',
      samples: ({ queues }) => queues.map((queue) => [queue.kind, String(queue.priority), queue.queued]),
    },
    {
      name: 'service_jobs_delayed',
      labelNames: byQueue,
      help: 'Queued jobs of the installation that are due later, since an attempt failed.',
      samples: ({ queues }) => queues.map((queue) => [queue.kind, String(queue.priority), queue.delayed]),
    },
    {
      name: 'service_jobs_in_progress',
      labelNames: byQueue,
      help: 'Jobs of the installation that workers work on.',
      samples: ({ queues }) => queues.map((queue) => [queue.kind, String(queue.priority), queue.in_progress]),
    },
    {
      name: 'service_jobs_oldest_queued_seconds',
      labelNames: byQueue,
      help: 'Age of the oldest queued job; 0 if none is queued.',
      samples: ({ queues }) => queues.map((queue) => [queue.kind, String(queue.priority), queue.oldest_seconds ?? 0]),
    },
    {
      name: 'service_jobs_oldest_lease_seconds',
      labelNames: ['kind'],
      help: 'Time since the longest running job was claimed first; 0 if none runs.',
      samples: ({ leases }) => leases.map((lease) => [lease.kind, lease.oldestSeconds]),
    },
    {
      name: 'service_jobs_idle_lease_seconds',
      labelNames: ['kind'],
      help: 'Longest time for which a running job has finished no unit of work; 0 if none runs.',
      samples: ({ leases }) => leases.map((lease) => [lease.kind, lease.idleSeconds]),
    },
    {
      name: 'service_jobs_lease_overdue_seconds',
      labelNames: ['kind'],
      help: 'Time since the first expired lease should have been recovered; 0 if none has expired.',
      samples: ({ leases }) => leases.map((lease) => [lease.kind, lease.overdueSeconds]),
    },
  ]);
}
