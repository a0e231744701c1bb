import type { Metrics } from '../platform/metrics.ts';
import { openPolledGauges } from '../platform/polled-gauges.ts';
import type { Sql } from '../platform/postgres.ts';
import { readIndexTotals } from './writing/index-versions-store.ts';

const QUERY_MS_MAX = 2_000;

/** Define the metrics of all search indexes. All processes report the same values, without a bucket label. */
export function openIndexMetrics({ registry }: Pick<Metrics, 'registry'>, sql: Sql): void {
  openPolledGauges(registry, 'indexes', () => readIndexTotals(sql.limited({ ms: QUERY_MS_MAX })), [
    {
      name: 'service_index_tables',
      help: 'Search indexes: one for each bucket that something was written to.',
      samples: (totals) => [[totals.tables]],
    },
    {
      name: 'service_index_unsettled_tables',
      help: 'Search indexes with rows that are not merged yet.',
      samples: (totals) => [[totals.unsettled]],
    },
    {
      name: 'service_index_fragments',
      help: 'Files of rows of all search indexes.',
      samples: (totals) => [[totals.fragments]],
    },
    {
      name: 'service_index_fragments_max',
      help: 'Files of rows of the search index that has most.',
      samples: (totals) => [[totals.fragmentsMax]],
    },
    {
      name: 'service_index_unindexed_rows',
      help: 'Rows of all search indexes that are not in the keyword index yet.',
      samples: (totals) => [[totals.unindexedRows]],
    },
    {
      name: 'service_index_unindexed_rows_max',
      help: 'Rows that are not in the keyword index yet, of the search index that has most.',
      samples: (totals) => [[totals.unindexedRowsMax]],
    },
  ]);
}
