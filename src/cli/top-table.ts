import { formatCount, formatDuration, formatLatency, formatPerSecond, formatShare } from '../tui/figures.ts';
import { describeCache, describeRequests, type TopSnapshot } from '../tui/top.ts';
import { renderFields, renderTable } from './table.ts';

/** Render `service top` for a pipe or a file: fields, then tables of queues, workers and providers. */
export function renderTop({ at, queues, workers, throughput, server }: TopSnapshot): string {
  const isServed = server.trouble === null;
  const parts = [
    renderFields({
      time: at,
      server: server.trouble ?? server.url,
      jobs: `finished ${formatPerSecond(throughput.finished_per_second)}, failed ${formatPerSecond(throughput.failed_per_second)}`,
      ...(isServed ? { requests: describeRequests(server), cache: describeCache(server) } : {}),
    }),
    renderTable(queues, [
      ['queue', (queue) => queue.kind],
      ['priority', (queue) => queue.priority],
      ['queued', (queue) => formatCount(queue.queued)],
      ['delayed', (queue) => formatCount(queue.delayed)],
      ['in progress', (queue) => formatCount(queue.in_progress)],
      ['oldest', (queue) => formatDuration(queue.oldest_seconds)],
    ]),
    renderTable(workers, [
      ['worker', (worker) => worker.id],
      ['kind', (worker) => worker.kind ?? 'gone'],
      ['jobs', (worker) => worker.jobs],
      ['lease', (worker) => formatDuration(worker.lease_seconds)],
      ['seen', (worker) => formatDuration(worker.silent_seconds)],
      ['pid', (worker) => worker.pid],
      ['host', (worker) => worker.host],
    ]),
  ];
  if (isServed) {
    parts.push(
      renderTable(server.upstreams, [
        ['upstream', (upstream) => upstream.provider],
        ['calls', (upstream) => formatPerSecond(upstream.calls_per_second)],
        ['errors', (upstream) => formatShare(upstream.error_rate)],
        ['p50', (upstream) => formatLatency(upstream.p50_ms)],
        ['p95', (upstream) => formatLatency(upstream.p95_ms)],
        ['now', (upstream) => upstream.in_flight],
        ['queue', (upstream) => upstream.queued_texts],
        ['breaker', (upstream) => upstream.breaker],
      ]),
    );
  }
  if (isServed && server.channels.length > 0) {
    parts.push(
      renderTable(server.channels, [
        ['bot', (channel) => channel.bot],
        ['deliveries', (channel) => formatPerSecond(channel.deliveries_per_second)],
        ['limited', (channel) => formatShare(channel.limited_rate)],
        ['refused', (channel) => formatPerSecond(channel.refusals_per_second)],
        ['faults', (channel) => formatPerSecond(channel.faults_per_second)],
        ['p50', (channel) => formatLatency(channel.p50_ms)],
        ['p95', (channel) => formatLatency(channel.p95_ms)],
        ['channel', (channel) => channel.channel],
      ]),
    );
  }
  return parts.join('\n\n');
}
