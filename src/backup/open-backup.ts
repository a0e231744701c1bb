import { type BackupLocation, describeLocation } from '../platform/backup-settings.ts';
import type { Chore } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Sql } from '../platform/postgres.ts';
import { openCareMetrics } from './care-metrics.ts';
import { checkFile, SortedCursor } from './files.ts';
import { listBackups, readManifest } from './layout.ts';
import { type BackupContext, makeBackup, withBackupLock } from './make-backup.ts';
import { pruneBackups } from './prune-backups.ts';
import { findVerifiedBefore, markFaulty, markVerified, selectBackupAges } from './record-store.ts';
import type { ObjectEntry } from './schema.ts';
import { readObjectEntries } from './stored-objects.ts';
import { type BackupTarget, openTarget, withOpenTarget } from './target.ts';
import { verifyBackup } from './verify-backup.ts';

/** Actor of scheduled backups in the audit log. */
const SCHEDULE_ACTOR = 'service:backup';
/** Time after which a failed scheduled backup is retried. */
const RETRY_MS = 15 * 60_000;
const CHECK_MS = 60_000;

/** Backups of the installation, and their schedule. */
export interface Backup extends BackupContext {
  readonly chores: (everyMs: number) => readonly Chore[];
}

export function openBackup(
  context: BackupContext & {
    readonly config: Pick<Config, 'backup' | 'dataDir' | 'objects' | 's3'>;
    readonly logger: Logger;
    readonly metrics: Pick<Metrics, 'registry'>;
  },
): Backup {
  openCareMetrics(context.metrics, context.sql, context.config);
  const { to } = context.config.backup;
  if (to === null) return { ...context, chores: () => [] };
  return {
    ...context,
    chores: (everyMs) => [
      {
        name: 'scheduled backup',
        everyMs: Math.min(everyMs, CHECK_MS),
        run: (signal) => runSchedule(context, to, signal),
      },
    ],
  };
}

type ScheduleContext = Parameters<typeof openBackup>[0];

/**
 * Create a backup if one is due, verify it, and then remove the oldest ones. Only one process of the installation does
 * this.
 */
async function runSchedule(context: ScheduleContext, to: BackupLocation, signal: AbortSignal): Promise<void> {
  if (!(await isDue(context, to))) return;
  try {
    await withBackupLock(context.direct, signal, async (guarded) => {
      // Another process may have created one meanwhile.
      if (await isDue(context, to)) await backUp(context, to, guarded);
    });
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'backup_running')) throw error;
  }
}

async function isDue({ config, sql }: ScheduleContext, to: BackupLocation): Promise<boolean> {
  const { everyMs } = config.backup;
  const { completeMs, failedMs } = await selectBackupAges(sql, describeLocation(to));
  if (completeMs !== null && completeMs < everyMs) return false;
  return failedMs === null || failedMs >= Math.min(everyMs, RETRY_MS);
}

async function backUp(context: ScheduleContext, to: BackupLocation, signal: AbortSignal): Promise<void> {
  const { config, logger, sql } = context;
  const opened = await openTarget(config, to, { logger, creates: true });
  await withOpenTarget(opened, async (target) => {
    const report = await makeBackup(context, target, { actor: SCHEDULE_ACTOR, trigger: 'schedule', signal });
    try {
      await verifyNew(sql, target, report.id, signal);
    } catch (error) {
      if (error instanceof AppError) await markFaulty(sql, report.id, error.message);
      throw error;
    }
    const { removed } = await pruneBackups(target, config.backup.keep, signal);
    logger.info({ ...report, removed }, 'a scheduled backup was made and verified');
  });
}

/**
 * Verify a new backup. For contents shared with the previous verified backup, check only presence and size, so that a
 * daily backup doesn't read everything again. Remove damaged contents; the next backup stores them again.
 */
async function verifyNew(sql: Sql, target: BackupTarget, id: string, signal: AbortSignal): Promise<void> {
  const before = await findVerifiedBefore(sql, target.name, id);
  const { complete } = await listBackups(target.objects, signal);
  const list = before !== null && complete.includes(before) ? (await readManifest(target, before)).objects : null;
  const isUsable = list !== null && (await checkFile(target.objects, list, signal)) === null;
  const cursor = isUsable ? new SortedCursor(readObjectEntries(target.objects, list, signal)) : null;
  try {
    const isTrusted = async ({ key, sha256 }: ObjectEntry) => (await cursor?.find(key))?.sha256 === sha256;
    await verifyBackup(target, id, { signal, isTrusted, removesDamaged: true });
  } finally {
    await cursor?.close();
  }
  await markVerified(sql, id);
}
