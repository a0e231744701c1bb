import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type AppError, conflict } from '../platform/errors.ts';
import { listMigrations, type MigrationId, migrate } from '../platform/migrate.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import { readSchemaObjects } from '../platform/schema-objects.ts';
import { checkFile, hashStream, openLineFile, SortedCursor, sha256Of } from './files.ts';
import { contentKey, damaged } from './layout.ts';
import * as store from './restore-store.ts';
import type { Manifest, ObjectEntry, OnProgress } from './schema.ts';
import { countRows, prepareCopy } from './snapshot-store.ts';
import { inGroups, isBackedUp, readObjectEntries } from './stored-objects.ts';
import type { BackupTarget } from './target.ts';

/** Maximum size of a file to hold in memory. */
const MEMORY_BYTES_MAX = 1024 * 1024;
const IN_USE_ROUNDS = 20;
const IN_USE_POLL_MS = 100;

export interface RestoreContext {
  /** Connection pool that doesn't use a transaction pooler. */
  readonly sql: Sql;
  /** Object storage of the installation, without the deletion guard. */
  readonly objects: Objects;
  readonly migrations: string;
}

export interface RestoreOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: OnProgress;
}

/**
 * Refuse a restore that can't work or would replace data.
 * @param options.secretKeyCheck check value of the secret key of this installation, in hexadecimal; null without a key
 * @throws AppError `backup_too_new`, `secret_key_mismatch`, `installation_in_use`, `installation_not_empty` (409)
 */
export async function checkRestorable(
  { sql, migrations }: Pick<RestoreContext, 'sql' | 'migrations'>,
  manifest: Manifest,
  options: { secretKeyCheck: string | null; keyFile: string; force: boolean; signal: AbortSignal },
): Promise<void> {
  const { secretKeyCheck, keyFile, force, signal } = options;
  requireKnownMigrations(await listMigrations(migrations), manifest);
  if (secretKeyCheck !== manifest.secret_key_check) {
    const found = secretKeyCheck === null ? 'there is none here' : 'the secret key here is a different one';
    throw conflict(
      `the backup needs the secret key of the installation that was backed up, and ${found}; copy its secret.key to ${keyFile}, or set SERVICE_SECRET_KEY to it`,
      'secret_key_mismatch',
    );
  }
  if (await isInUse(sql, signal)) {
    throw conflict(
      'other processes of the service use this installation; stop them (service, workers, reaper) and run the command again',
      'installation_in_use',
    );
  }
  const used = force ? [] : await store.findUsedTables(sql);
  if (used.length === 0) return;
  throw conflict(
    `the installation is not empty (${used.join(', ')}); restore into a new one, or replace everything in this one with --force`,
    'installation_not_empty',
  );
}

/** Return true if other processes stay connected. A killed process's connections end shortly after it. */
async function isInUse(sql: Sql, signal: AbortSignal): Promise<boolean> {
  for (let round = 0; round < IN_USE_ROUNDS; round++) {
    if ((await store.countConnections(sql)) === 0) return false;
    await delay(IN_USE_POLL_MS, undefined, { signal });
  }
  return true;
}

function requireKnownMigrations(known: readonly MigrationId[], manifest: Manifest): void {
  const checksums = new Map(known.map(({ version, checksum }) => [version, checksum]));
  const unknown = manifest.migrations.find(({ version, checksum }) => checksums.get(version) !== checksum);
  if (unknown === undefined) return;
  throw conflict(
    `the backup was made by release ${manifest.service_version} with migration ${unknown.version} (${unknown.name}), which this release does not have; restore it with that release or a newer one`,
    'backup_too_new',
  );
}

/**
 * Write the files of a backup into the storage. If a file exists, as after an interrupted restore, compare it instead
 * of writing it again.
 * @throws AppError `backup_damaged` (409); those of `Objects`; the reason of the signal
 */
export async function restoreObjects(
  { objects }: Pick<RestoreContext, 'objects'>,
  target: BackupTarget,
  manifest: Manifest,
  { signal, onProgress }: RestoreOptions,
): Promise<void> {
  let done = 0;
  for await (const group of inGroups(readObjectEntries(target.objects, manifest.objects, signal))) {
    signal.throwIfAborted();
    await Promise.all(
      group.map((entry) =>
        restoreObject(objects, target, entry, {
          key: entry.key,
          signal,
          damaged: (fault) => damaged(manifest.id, [fault]),
        }),
      ),
    );
    done += group.length;
    onProgress?.({ phase: 'files', done, total: manifest.objects.lines });
  }
}

/** Write one stored file under a key, unless it exists. @throws the error created by `damaged` from a fault */
export async function restoreObject(
  objects: Objects,
  target: Pick<BackupTarget, 'objects'>,
  { size_bytes, sha256 }: Pick<ObjectEntry, 'size_bytes' | 'sha256'>,
  options: { readonly key: string; readonly signal: AbortSignal; readonly damaged: (fault: string) => AppError },
): Promise<void> {
  const { key, signal } = options;
  const found = await objects.head(key, { signal });
  if (found?.sizeBytes === size_bytes && (await hashStream(objects.stream(key, { signal }))).sha256 === sha256) return;
  const source = contentKey(sha256);
  if (size_bytes <= MEMORY_BYTES_MAX) {
    const bytes = await target.objects.get(source, { signal });
    if (sha256Of(bytes) !== sha256) throw options.damaged(`${source} is not as it was written`);
    await objects.put(key, bytes, { signal });
    return;
  }
  const stored = await objects.put(key, target.objects.stream(source, { signal }), { signal });
  if (stored.sha256 === sha256) return;
  await objects.delete(key);
  throw options.damaged(`${source} is not as it was written`);
}

/**
 * Replace the database's contents by the rows of a backup in one transaction, that is, atomically. The schema is the
 * backup's; the next start applies later migrations.
 * @throws AppError `backup_damaged` (409), those of `migrate`; the error of postgres.js; the reason of the signal
 */
export async function restoreTables(
  { sql, migrations }: RestoreContext,
  target: BackupTarget,
  manifest: Manifest,
  { signal, onProgress }: RestoreOptions,
): Promise<void> {
  const schema = await readSchemaObjects(migrations);
  await sql.begin(async (tx) => {
    await prepareCopy(tx);
    await store.dropSchema(tx, schema);
    await migrate(tx, { directory: migrations, upTo: manifest.schema_version });
    // `migrate` has set its own limits, so set those of COPY again.
    await prepareCopy(tx);
    await store.emptyTables(
      tx,
      manifest.tables.map(({ table }) => table),
    );
    for (const [nth, file] of manifest.tables.entries()) {
      signal.throwIfAborted();
      const fault = await checkFile(target.objects, file, signal);
      if (fault !== null) throw damaged(manifest.id, [fault]);
      const rows: Readable = openLineFile(target.objects, file, signal);
      await store.fillTable(tx, file, rows);
      const count = await countRows(tx, file.table);
      if (count !== file.lines) {
        throw damaged(manifest.id, [`${file.key} gave ${count} rows of ${file.table}, and ${file.lines} were written`]);
      }
      onProgress?.({ phase: 'rows', done: nth + 1, total: manifest.tables.length });
    }
    await store.setSequences(tx, manifest.sequences);
    await store.resetRuntimeState(tx, manifest.id);
  });
}

/** Remove files that aren't in the backup, that is, files of the replaced data. */
export async function removeOtherObjects(
  { objects }: Pick<RestoreContext, 'objects'>,
  target: BackupTarget,
  manifest: Manifest,
  { signal }: RestoreOptions,
): Promise<void> {
  const kept = new SortedCursor(readObjectEntries(target.objects, manifest.objects, signal));
  try {
    for await (const { key } of objects.list('', { signal })) {
      if (isBackedUp(key) && (await kept.find(key)) === null) await objects.delete(key, { signal });
    }
    await kept.finish();
  } finally {
    await kept.close();
  }
}
