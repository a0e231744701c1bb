import { statfs } from 'node:fs/promises';
import { findBackup, readManifest } from '../backup/layout.ts';
import { findUnfinishedRestore, selectBackupAges } from '../backup/record-store.ts';
import { openTarget } from '../backup/target.ts';
import { type BackupLocation, describeLocation } from '../platform/backup-settings.ts';
import { ballastState, freeBytesForBallast } from '../platform/ballast.ts';
import type { Config } from '../platform/config.ts';
import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import { selectActiveMaps } from '../projection/store.ts';
import { formatBytes } from './table.ts';

/** Number of schedule intervals after which a backup counts as missed. */
const INTERVALS_MAX = 2;
/** Age at which a canary check of a map is out of date. A running server checks daily. */
const CANARIES_MS_MAX = 3 * 24 * 3_600_000;

export function down(message: string): AppError {
  return new AppError({ code: 'check_failed', status: 503, message });
}

/** Check that the ballast file exists, or that the disk has space for it. */
export async function tryBallast({ dataDir, ballastBytes }: Config): Promise<string> {
  const size = formatBytes(ballastBytes);
  if ((await ballastState({ dataDir, bytes: ballastBytes })) === 'present') return `${size} reserved`;
  const wantedBytes = freeBytesForBallast(ballastBytes);
  const { bavail, bsize } = await statfs(dataDir);
  if (bavail * bsize >= wantedBytes) return `none yet; a running server creates it (${size})`;
  throw down(
    `the ballast file of ${size} is missing, and the disk is too full to create it again; free at least ${formatBytes(wantedBytes)}, or set ballast_bytes to less`,
  );
}

/** Return true if any map has canaries to check. */
export async function hasCanaries(sql: Sql): Promise<boolean> {
  return (await selectActiveMaps(sql)).length > 0;
}

/** Check that no vendor has changed a model since its map was fitted, and that this check is recent. */
export async function tryCanaries(sql: Sql): Promise<string> {
  const maps = await selectActiveMaps(sql);
  const stale = maps.filter(({ staleAt }) => staleAt !== null);
  if (stale.length > 0) {
    const models = stale.map(({ model }) => model).join(', ');
    throw down(`the vendor has changed ${models} since the map was fitted; run "service projections fit" again`);
  }
  const ages = maps.map(({ checkedAt, createdAt }) => Date.now() - (checkedAt ?? createdAt).getTime());
  const oldestMs = Math.max(...ages);
  if (oldestMs > CANARIES_MS_MAX) {
    throw down(
      `the canary texts of a map were not checked for ${formatAge(oldestMs)}; run "service serve" or "service reaper" with the vendor of its model configured`,
    );
  }
  const match = maps.length === 1 ? '1 map matches its model' : `${maps.length} maps match their models`;
  return `${match}, checked ${formatAge(oldestMs)} ago or later`;
}

/** Check that the newest scheduled backup exists and is not too old. */
export async function tryBackups(sql: Sql, config: Config, to: BackupLocation, logger: Logger): Promise<string> {
  const name = describeLocation(to);
  const { everyMs } = config.backup;
  const { completeMs, failedMs, fault } = await selectBackupAges(sql, name);
  const failed = failedMs === null ? '' : `; the last attempt failed ${formatAge(failedMs)} ago: ${fault}`;
  if (completeMs === null) throw down(`there is no backup in ${name} yet; run "service db backup"${failed}`);
  if (completeMs > INTERVALS_MAX * everyMs) {
    throw down(
      `the newest backup is ${formatAge(completeMs)} old; check that "service serve" or "service reaper" runs${failed}`,
    );
  }
  const target = await openTarget(config, to, { logger, creates: false });
  try {
    const { id } = await readManifest(target, await findBackup(target, null));
    return `${id} in ${name} is ${formatAge(completeMs)} old${failed}`;
  } finally {
    await target.objects.close();
  }
}

/** Check that no restore is unfinished. */
export async function tryRestore(sql: Sql): Promise<string> {
  const unfinished = await findUnfinishedRestore(sql);
  if (unfinished === null) return 'finished';
  throw down(
    `the restore of ${unfinished.backupId} was interrupted, and searches do not find all documents; stop the service and run "service db restore" again`,
  );
}

/** Format a time span for people, in its largest whole unit. */
function formatAge(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 72 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}
