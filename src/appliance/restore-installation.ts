import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { parseApiKey } from '../access/api-key-format.ts';
import { secretKeyCheckOf } from '../access/secret-key-check.ts';
import { findBackup, readManifest } from '../backup/layout.ts';
import { type RebuildReport, rebuildIndexes } from '../backup/rebuild-indexes.ts';
import { findUnfinishedRestore } from '../backup/record-store.ts';
import {
  checkRestorable,
  type RestoreOptions,
  removeOtherObjects,
  restoreObjects,
  restoreTables,
} from '../backup/restore-backup.ts';
import { findInstallation, hasApiKey, hasRestores } from '../backup/restore-store.ts';
import type { Manifest } from '../backup/schema.ts';
import { requireSigned } from '../backup/signature.ts';
import { type BackupTarget, openTarget } from '../backup/target.ts';
import { type VerifyReport, verifyBackup } from '../backup/verify-backup.ts';
import type { BackupLocation } from '../platform/backup-settings.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import { secretKeyFile } from '../platform/secret-key.ts';
import { readKeyRing } from './check-signature.ts';
import { withdrawClaim } from './claim-storage.ts';
import { openAppliance } from './open-appliance.ts';
import { MIGRATIONS, openDatabase, openObjects } from './stores.ts';

/** Maximum connections of the appliance that builds the indexes. */
const POOL_MAX = 8;

export interface RestoreRequest extends RestoreOptions {
  readonly location: BackupLocation;
  /** Id of the backup; null for the newest. */
  readonly backup: string | null;
  /** True to replace the data of the installation. */
  readonly force: boolean;
  /** True to restore a backup without a signature. */
  readonly acceptsUnsigned: boolean;
  readonly actor: string;
  readonly logger: Logger;
}

export interface RestoreReport extends Omit<VerifyReport, 'location'> {
  readonly from: string;
  readonly index: RebuildReport;
  /** True if an earlier call restored rows and files, and this one only built the remaining indexes. */
  readonly resumed: boolean;
}

/**
 * Restore a backup into the installation of these settings and build its search indexes. Verify everything before
 * writing anything, and restore rows in one transaction. A call after an interruption continues where it can.
 *
 * @throws AppError of `findBackup`, `verifyBackup`, `checkRestorable`, `openAppliance`; the reason of the signal
 */
export async function restoreInstallation(config: Config, request: RestoreRequest): Promise<RestoreReport> {
  const { logger, signal } = request;
  const target = await openTarget(config, request.location, { logger, creates: false });
  try {
    const id = await findBackup(target, request.backup);
    const manifest = await readManifest(target, id);
    const resumed = await restoreData(config, target, manifest, request);
    const appliance = await openAppliance(config, { logger, poolMax: POOL_MAX });
    try {
      const index = await rebuildIndexes(appliance.ingest.reindex, request.actor, request);
      signal.throwIfAborted();
      const { created_at, service_version, schema_version, tables, objects } = manifest;
      return {
        id,
        from: target.name,
        created_at,
        service_version,
        schema_version,
        tables: tables.length,
        rows: tables.reduce((sum, { lines }) => sum + lines, 0),
        files: objects.lines,
        bytes: objects.object_bytes,
        missing_files: manifest.missing_objects,
        index,
        resumed,
      };
    } finally {
      await appliance.close();
    }
  } finally {
    await target.objects.close();
  }
}

/** Restore rows and files. Return true if an earlier call has already done so. */
async function restoreData(
  config: Config,
  target: BackupTarget,
  manifest: Manifest,
  request: RestoreRequest,
): Promise<boolean> {
  const { logger, force } = request;
  const database = await openDatabase(config, logger, 'service/restore');
  try {
    const objects = await openObjects(config, logger);
    try {
      const context = { sql: database.sql, objects, migrations: MIGRATIONS };
      const isResumed = (await unfinishedRestore(database.sql)) === manifest.id;
      const keyRing = readKeyRing(config);
      const secretKeyCheck = keyRing && secretKeyCheckOf(keyRing).toString('hex');
      const keyFile = secretKeyFile(config.dataDir);
      await checkRestorable(context, manifest, {
        secretKeyCheck,
        keyFile,
        force: force || isResumed,
        signal: request.signal,
      });
      if (keyRing !== null) await requireSigned(target, manifest.id, keyRing, request);
      if (!isResumed) {
        await verifyBackup(target, manifest.id, request);
        const own = await findInstallation(database.sql);
        await withdrawClaim(config, objects, [manifest.installation_id, own]);
        await restoreObjects(context, target, manifest, request);
        await restoreTables(context, target, manifest, request);
      }
      await removeOtherObjects(context, target, manifest, request);
      await removeFormerAdminKey(config.dataDir, database.sql);
      return isResumed;
    } finally {
      await objects.close();
    }
  } finally {
    await database.close();
  }
}

async function unfinishedRestore(sql: Sql): Promise<string | null> {
  return (await hasRestores(sql)) ? ((await findUnfinishedRestore(sql))?.backupId ?? null) : null;
}

/** Remove the admin key file if the restored installation doesn't have its key. */
async function removeFormerAdminKey(dataDir: string, sql: Sql): Promise<void> {
  const file = path.join(dataDir, 'admin.key');
  if (!existsSync(file)) return;
  const key = parseApiKey(readFileSync(file, 'utf8').trim());
  if (key !== null && !(await hasApiKey(sql, key.id))) await rm(file);
}
