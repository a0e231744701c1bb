import { recordAudit } from '../access/audit.ts';
import { AppError, conflict } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { listAppliedMigrations, listMigrations, type MigrationId } from '../platform/migrate.ts';
import { withoutDeletions } from '../platform/objects/guard-deletions.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { describeServer } from '../platform/postgres/server.ts';
import { mapPostgresError, type Sql, withAdvisoryLock } from '../platform/postgres.ts';
import { readSchemaObjects } from '../platform/schema-objects.ts';
import { VERSION } from '../platform/version.ts';
import { type CopyReport, copyObjects, measureObjects } from './copy-objects.ts';
import { checkFile, readLines, SortedCursor, sha256Of, writeLineFile } from './files.ts';
import { backupPrefix, completeKey, listBackups, manifestKey, readManifest, signatureKey } from './layout.ts';
import { insertBackup } from './record-store.ts';
import type { LineFile, Manifest, ObjectEntry, OnProgress, SequenceState, TableFile } from './schema.ts';
import { type SigningKey, signManifest } from './signature.ts';
import * as snapshot from './snapshot-store.ts';
import { findMissing, readObjectEntries } from './stored-objects.ts';
import type { BackupTarget } from './target.ts';

/** Lock that keeps processes from creating or removing backups concurrently. */
const BACKUP_LOCK = 'backup';

export interface BackupContext {
  readonly keyRing: SigningKey;
  readonly sql: Sql;
  /** Connection pool for advisory locks and the snapshot. It must not use a transaction pooler. */
  readonly direct: Sql;
  readonly objects: Objects;
  readonly installationId: string;
  /** Folder of the migrations. */
  readonly migrations: string;
}

export interface BackupRequest {
  readonly actor: string;
  readonly trigger: 'command' | 'schedule';
  readonly signal: AbortSignal;
  readonly onProgress?: OnProgress;
}

export interface BackupReport {
  readonly id: string;
  readonly location: string;
  readonly tables: number;
  readonly rows: number;
  readonly files: number;
  readonly bytes: number;
  /** Number and size of files whose content no earlier backup in the location has. */
  readonly new_files: number;
  readonly new_bytes: number;
  /** Number of missing files that rows refer to. */
  readonly missing_files: number;
}

/**
 * Run `fn` while no other process creates or removes backups.
 * @throws AppError `backup_running` (409) immediately if another process does so
 */
export async function withBackupLock<T>(
  direct: Sql,
  signal: AbortSignal,
  fn: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await withAdvisoryLock(direct, BACKUP_LOCK, (_stillHeld, lost) => fn(AbortSignal.any([signal, lost])), {
      signal,
      waits: false,
    });
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'lock_held') throw error;
    throw conflict('another process is making a backup of this installation; wait until it is done', 'backup_running');
  }
}

/**
 * Make a backup: all rows in one snapshot of the database, and all files that they refer to. Reads and writes continue;
 * only deletions of files wait from the snapshot until the last file is stored. Call this under `withBackupLock`.
 *
 * An interrupted backup lacks the file `complete`. It is never restored, and the next backup in the location reuses its
 * stored contents.
 * @throws AppError `backup_foreign` (409): the location belongs to another installation; those of `Objects`; the reason
 *   of the signal
 */
export async function makeBackup(
  context: BackupContext,
  target: BackupTarget,
  request: BackupRequest,
): Promise<BackupReport> {
  const { sql } = context;
  const id = newId('bak');
  const startedAt = new Date();
  const record = { id, location: target.name, trigger: request.trigger, startedAt };
  try {
    const report = await new BackupRun(context, target, id, request).run();
    const { rows, files, bytes } = report;
    await sql.begin(async (tx) => {
      await insertBackup(tx, { ...record, fault: null, rows, files, bytes });
      await recordAudit(tx, {
        orgId: null,
        actor: request.actor,
        action: 'installation.backup',
        target: id,
        detail: { location: target.name, rows, files },
      });
    });
    return report;
  } catch (cause) {
    const error = mapPostgresError(cause);
    if (!request.signal.aborted) {
      const fault = error instanceof AppError ? error.message : String(error);
      await insertBackup(sql, { ...record, fault, rows: null, files: null, bytes: null }).catch(() => undefined);
    }
    throw error;
  }
}

/**
 * Return the size of the backup that `makeBackup` would create, without writing anything.
 * @param target null if the location doesn't exist yet
 */
export async function planBackup(
  context: BackupContext,
  target: BackupTarget | null,
  signal: AbortSignal,
): Promise<CopyReport & { tables: number; rows: number }> {
  const { direct, objects, migrations } = context;
  const { tables } = await readSchemaObjects(migrations);
  const previous = target && (await readPrevious(context, target, signal));
  let rows = 0;
  await direct.begin(snapshot.SNAPSHOT, async (tx) => {
    await snapshot.prepareCopy(tx);
    for (const table of tables) rows += await snapshot.countRows(tx, table);
  });
  const known = target && previous ? [entriesOf(target, previous.objects, signal)] : [];
  return { tables: tables.length, rows, ...(await measureObjects(objects, known, signal)) };
}

class BackupRun {
  readonly #context: BackupContext;
  readonly #target: BackupTarget;
  readonly #id: string;
  readonly #request: BackupRequest;

  constructor(context: BackupContext, target: BackupTarget, id: string, request: BackupRequest) {
    this.#context = context;
    this.#target = target;
    this.#id = id;
    this.#request = request;
  }

  async run(): Promise<BackupReport> {
    const { direct } = this.#context;
    const { signal } = this.#request;
    const previous = await readPrevious(this.#context, this.#target, signal);
    // Store nearly all files before the snapshot, so that deletions only have to wait for the few others.
    const first = await this.#copyFiles('objects-before.gz', previous ? [previous.objects] : [], signal);
    const known = [first.list, ...(previous ? [previous.objects] : [])];
    const { rows, second } = await withoutDeletions(
      direct,
      async (lost) => {
        const guarded = AbortSignal.any([signal, lost]);
        return { rows: await this.#copyRows(guarded), second: await this.#copyFiles('objects.gz', known, guarded) };
      },
      signal,
    );
    await this.#target.objects.delete(first.list.key);
    const missing = await this.#countMissing(rows.references, second.list);
    const { list, files, bytes } = second;
    await this.#complete({ ...rows, objects: { ...list, object_bytes: bytes }, missing_objects: missing });
    return {
      id: this.#id,
      location: this.#target.name,
      tables: rows.tables.length,
      rows: rows.tables.reduce((sum, { lines }) => sum + lines, 0),
      files,
      bytes,
      missing_files: missing,
      new_files: first.newFiles + second.newFiles,
      new_bytes: first.newBytes + second.newBytes,
    };
  }

  #copyFiles(name: string, known: readonly LineFile[], signal: AbortSignal) {
    const { objects } = this.#target;
    return copyObjects(this.#context.objects, objects, {
      known: known.map((file) => entriesOf(this.#target, file, signal)),
      listKey: `${backupPrefix(this.#id)}${name}`,
      signal,
      onFile: (done) => this.#request.onProgress?.({ phase: 'files', done, total: null }),
    });
  }

  /** Copy all tables in one snapshot. */
  async #copyRows(signal: AbortSignal) {
    const { direct, migrations } = this.#context;
    const schema = await readSchemaObjects(migrations);
    const { version: postgres_version } = await describeServer(direct);
    return direct.begin(snapshot.SNAPSHOT, async (tx) => {
      await snapshot.prepareCopy(tx);
      const createdAt = await snapshot.readSnapshotTime(tx);
      const applied = await listAppliedMigrations(tx);
      requireKnownTables(applied, await listMigrations(migrations));
      const secretKeyCheck = await snapshot.selectSecretKeyCheck(tx);
      if (secretKeyCheck === null) throw new Error('the installation has no check of its secret key');
      const tables: TableFile[] = [];
      for (const table of schema.tables) {
        signal.throwIfAborted();
        tables.push(await this.#copyTable(tx, table, signal));
        this.#request.onProgress?.({ phase: 'rows', done: tables.length, total: schema.tables.length });
      }
      const references = await snapshot.copyReferences(tx, (keys) => this.#write('references.gz', keys, signal));
      // Read sequences after the rows: a sequence may be ahead of them, but never behind.
      const sequences: SequenceState[] = await snapshot.selectSequences(tx, schema);
      return {
        created_at: createdAt.toISOString(),
        postgres_version,
        secret_key_check: secretKeyCheck,
        schema_version: applied.at(-1)?.version ?? 0,
        migrations: applied,
        tables,
        references,
        sequences,
      };
    });
  }

  async #copyTable(tx: Sql, table: string, signal: AbortSignal): Promise<TableFile> {
    const columns = await snapshot.selectColumns(tx, table);
    const file = await snapshot.copyTable(tx, table, columns, (rows) =>
      this.#write(`tables/${table}.copy.gz`, rows, signal),
    );
    return { ...file, table, columns };
  }

  #write(name: string, source: Parameters<typeof writeLineFile>[2], signal: AbortSignal): Promise<LineFile> {
    return writeLineFile(this.#target.objects, `${backupPrefix(this.#id)}${name}`, source, signal);
  }

  async #countMissing(references: LineFile, list: LineFile): Promise<number> {
    const { objects } = this.#target;
    const { signal } = this.#request;
    const keys = readLines(objects, references, signal);
    let missing = 0;
    for await (const _ of findMissing(keys, readObjectEntries(objects, list, signal))) missing++;
    return missing;
  }

  async #complete(rest: Omit<Manifest, 'format' | 'id' | 'service_version' | 'installation_id'>): Promise<void> {
    const { objects } = this.#target;
    const manifest: Manifest = {
      format: 1,
      id: this.#id,
      service_version: VERSION,
      installation_id: this.#context.installationId,
      ...rest,
    };
    const bytes = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
    this.#request.signal.throwIfAborted();
    await objects.put(manifestKey(this.#id), bytes);
    const signature = signManifest(this.#context.keyRing, bytes);
    await objects.put(signatureKey(this.#id), Buffer.from(`${signature}\n`));
    await objects.put(completeKey(this.#id), Buffer.from(`${sha256Of(bytes)}\n`));
  }
}

/** Refuse a database with tables that this release doesn't copy. @throws AppError `backup_release_too_old` (409) */
function requireKnownTables(applied: readonly MigrationId[], known: readonly MigrationId[]): void {
  const newest = applied.find(({ version }) => version > (known.at(-1)?.version ?? 0));
  if (newest === undefined) return;
  throw conflict(
    `the database was brought up to migration ${newest.version} (${newest.name}) by a newer release; make the backup with that release`,
    'backup_release_too_old',
  );
}

/**
 * Read the manifest of the newest backup in the location; null if there is none or it is damaged.
 * @throws AppError `backup_foreign` (409)
 */
async function readPrevious(
  { installationId }: BackupContext,
  target: BackupTarget,
  signal: AbortSignal,
): Promise<Manifest | null> {
  const [newest] = (await listBackups(target.objects, signal)).complete;
  if (newest === undefined) return null;
  let manifest: Manifest;
  try {
    manifest = await readManifest(target, newest);
  } catch (error) {
    if (error instanceof AppError && error.code === 'backup_damaged') return null;
    throw error;
  }
  if (manifest.installation_id === installationId) {
    const fault = await checkFile(target.objects, manifest.objects, signal);
    return fault === null ? manifest : null;
  }
  throw conflict(
    `${target.name} holds backups of another installation; choose another folder or prefix`,
    'backup_foreign',
  );
}

function entriesOf(target: BackupTarget, list: LineFile, signal: AbortSignal): SortedCursor<ObjectEntry> {
  return new SortedCursor(readObjectEntries(target.objects, list, signal));
}
