import { availableParallelism } from 'node:os';
import { Gauge } from 'prom-client';
import type { Logger } from '../../platform/logger.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { SearchSettings } from '../../platform/search-settings.ts';
import { TableCopies } from './table-copies.ts';

const THREADS_MAX = 4;

/** Open the in-memory copies of index tables, with their metrics. Return null if the settings grant no memory. */
export function openTableCopies(
  {
    search: { residentBytes },
    dataDir,
  }: { readonly search: Pick<SearchSettings, 'residentBytes'>; readonly dataDir: string },
  context: { readonly logger: Logger; readonly metrics: Metrics; readonly onLargeRead?: () => void },
): TableCopies | null {
  if (residentBytes === 0) return null;
  const { metrics, ...own } = context;
  const threadsMax = Math.min(THREADS_MAX, availableParallelism());
  const indexes = new TableCopies({ maxBytes: residentBytes, scratchIn: dataDir, threadsMax, ...own });
  const registers = [metrics.registry];
  const gauges = [
    ['tables', 'Tables of the search index that are held in memory.'],
    ['rows', 'Chunks of the tables that are held in memory.'],
    ['bytes', 'Memory of the tables that are held in memory, in bytes.'],
  ] as const;
  for (const [part, help] of gauges) {
    new Gauge({
      name: `service_resident_index_${part}`,
      help,
      registers,
      collect() {
        this.set(indexes.totals[part]);
      },
    });
  }
  return indexes;
}
