import { describeLocation } from '../platform/backup-settings.ts';
import { freeBytesOf } from '../platform/ballast.ts';
import type { Config } from '../platform/config.ts';
import type { Metrics } from '../platform/metrics.ts';
import { openPolledGauges } from '../platform/polled-gauges.ts';
import type { Sql } from '../platform/postgres.ts';
import { selectBackupAges } from './record-store.ts';

const QUERY_MS_MAX = 2_000;

interface Care {
  readonly freeBytes: number | null;
  readonly backup: { readonly to: string; readonly ageMs: number | null; readonly everyMs: number } | null;
}

/** Define the metrics for an operator's care: free space and recent backups. */
export function openCareMetrics(
  { registry }: Pick<Metrics, 'registry'>,
  sql: Sql,
  { dataDir, backup: { to, everyMs } }: Pick<Config, 'backup' | 'dataDir'>,
): void {
  const read = async (): Promise<Care> => {
    const freeBytes = await freeBytesOf(dataDir);
    if (to === null) return { freeBytes, backup: null };
    const name = describeLocation(to);
    const { completeMs } = await selectBackupAges(sql.limited({ ms: QUERY_MS_MAX }), name);
    return { freeBytes, backup: { to: name, ageMs: completeMs, everyMs } };
  };
  openPolledGauges(registry, 'care', read, [
    {
      name: 'service_data_free_bytes',
      help: 'Free space of the file system of the data directory.',
      samples: ({ freeBytes }) => [[freeBytes ?? Number.NaN]],
    },
    {
      name: 'service_backup_age_seconds',
      help: 'Age of the newest complete backup; infinite if there is none. Absent without the setting backup.to.',
      labelNames: ['to'],
      samples: ({ backup }) =>
        backup === null ? [] : [[backup.to, (backup.ageMs ?? Number.POSITIVE_INFINITY) / 1_000]],
    },
    {
      name: 'service_backup_interval_seconds',
      help: 'Time between scheduled backups. Absent without the setting backup.to.',
      labelNames: ['to'],
      samples: ({ backup }) => (backup === null ? [] : [[backup.to, backup.everyMs / 1_000]]),
    },
  ]);
}
