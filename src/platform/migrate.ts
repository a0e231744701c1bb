import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import postgres from 'postgres';
import { AppError, unusable } from './errors.ts';
import { mapPostgresError, type Sql } from './postgres.ts';

/** Migration and the time at which it was applied to this database; null if it is pending. */
export interface MigrationStatus {
  readonly version: number;
  readonly name: string;
  readonly applied_at: Date | null;
}

export interface MigrationId {
  readonly version: number;
  readonly name: string;
  /** SHA-256 of the text in hexadecimal. Line endings are ignored, because a checkout may change them. */
  readonly checksum: string;
}

interface Migration extends MigrationId {
  readonly text: string;
  /** Oldest compatible code, given as the newest migration that it knows; null if unchanged by this migration. */
  readonly minimumCompatible: number | null;
}

interface Applied extends MigrationId {
  readonly applied_at: Date;
}

/**
 * Maximum time that a migration waits for a lock, and maximum number of attempts to get all its locks. The last attempt
 * waits without a limit. After a second, PostgreSQL checks for a deadlock (`deadlock_timeout`) and may cancel a request
 * of the running release. A migration that gives up earlier lets that request and those queued behind it continue.
 */
const LOCK_MS_MAX = 200;
const LOCK_ATTEMPTS = 50;
const LOCK_PAUSE_MS = 200;
/** SQLSTATEs of a lock that was not available in time, and of a deadlock. */
const LOCK_STATES = new Set(['55P03', '40P01']);

const FILE_NAME = /^(\d{4})_([a-z0-9_]+)\.sql$/;
const MINIMUM = /^--\s*minimum-compatible-version:\s*(\d+)\s*$/m;
/** Advisory lock key: an arbitrary number, the same in every process and used for nothing else in the database. */
const MIGRATION_LOCK = 7_310_112_002;

/**
 * Apply the pending migrations in `directory` (`0001_name.sql`, …; forward only). One transaction applies each
 * migration and records it, under one lock. Any number of processes may thus start at once, and a killed process never
 * leaves part of a migration.
 *
 * A database may have migrations that this code does not know, for example during an upgrade to a newer release. This
 * code still runs if they are compatible with it. An incompatible migration declares this in a comment at its head, `--
 * minimum-compatible-version: N`: once it is applied, code whose newest migration is below N refuses to run.
 * @param options.upTo newest migration to apply; default: all
 * @returns the names of the migrations that this call applied
 * @throws AppError `database_too_new`, `migration_changed`, `migration_out_of_order`, `migration_failed`,
 *   `migration_invalid`
 */
export async function migrate(sql: Sql, options: { directory: string; upTo?: number | undefined }): Promise<string[]> {
  const { directory, upTo = Number.POSITIVE_INFINITY } = options;
  const migrations = (await readMigrations(directory)).filter(({ version }) => version <= upTo);
  const done: string[] = [];
  // Check without a lock first: usually nothing is pending, and no process has to wait for another.
  const seen = await readApplied(sql);
  const pending = findPending(migrations, seen.applied, seen.minimumVersion);
  for (const migration of pending) {
    const isApplied = await applyOnce(sql, migration, migrations);
    if (isApplied) done.push(migration.name);
  }
  return done;
}

/** Apply a migration, unless another process has done so. @returns true if this call applied it */
async function applyOnce(sql: Sql, migration: Migration, migrations: Migration[]): Promise<boolean> {
  const attempt = (lockTimeout: string) =>
    sql.begin(async (tx) => {
      // Override the role's limits, which could abort a long migration. A killed process must not block the next
      // migration.
      await tx`
        select set_config('statement_timeout', '6h', true), set_config('lock_timeout', '0', true),
               set_config('client_connection_check_interval', '2s', true)`;
      await tx`select pg_advisory_xact_lock(${MIGRATION_LOCK})`;
      await createTables(tx);
      // Another process, perhaps with newer code, may have applied it in the meantime.
      const { applied, minimumVersion } = await readApplied(tx);
      if (!findPending(migrations, applied, minimumVersion).includes(migration)) return false;
      await tx`select set_config('lock_timeout', ${lockTimeout}, true)`;
      await apply(tx, migration);
      return true;
    });
  for (let nth = 1; nth < LOCK_ATTEMPTS; nth++) {
    try {
      return await attempt(`${LOCK_MS_MAX}ms`);
    } catch (error) {
      if (!(error instanceof postgres.PostgresError && LOCK_STATES.has(error.code))) throw error;
      await delay(LOCK_PAUSE_MS);
    }
  }
  return attempt('0');
}

/**
 * List the names of the migrations that `migrate` would apply.
 * @throws AppError with the codes of `migrate` for an incompatible database
 */
export async function pendingMigrations(sql: Sql, options: { directory: string }): Promise<string[]> {
  const [migrations, { applied, minimumVersion }] = await Promise.all([
    readMigrations(options.directory),
    readApplied(sql),
  ]);
  return findPending(migrations, applied, minimumVersion).map(({ name }) => name);
}

/** List every migration of the directory or of the database, by version. @throws AppError `migration_invalid` */
export async function migrationStatus(sql: Sql, options: { directory: string }): Promise<MigrationStatus[]> {
  const { applied } = await readApplied(sql);
  const all = new Map<number, MigrationStatus>();
  for (const { version, name } of await readMigrations(options.directory)) {
    all.set(version, { version, name, applied_at: null });
  }
  for (const { version, name, applied_at } of applied) all.set(version, { version, name, applied_at });
  return [...all.values()].sort((a, b) => a.version - b.version);
}

/** List the migrations of this code, by version. @throws AppError `migration_invalid` */
export async function listMigrations(directory: string): Promise<MigrationId[]> {
  return (await readMigrations(directory)).map(({ version, name, checksum }) => ({ version, name, checksum }));
}

/** List the migrations that were applied to a database, by version. */
export async function listAppliedMigrations(sql: Sql): Promise<MigrationId[]> {
  const { applied } = await readApplied(sql);
  return applied.map(({ version, name, checksum }) => ({ version, name, checksum }));
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const migrations: Migration[] = [];
  for (const file of (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort()) {
    const [, digits, name] = FILE_NAME.exec(file) ?? [];
    if (digits === undefined || name === undefined) throw invalid(file, 'its name is not of the form 0001_name.sql');
    const version = Number(digits);
    if (migrations.at(-1)?.version === version) throw invalid(file, `there is another migration ${digits}`);
    // Reading fifty small files asynchronously in sequence takes ten times as long.
    const text = readFileSync(path.join(directory, file), 'utf8').replaceAll('\r\n', '\n');
    const minimum = MINIMUM.exec(headOf(text))?.[1];
    const minimumCompatible = minimum === undefined ? null : Number(minimum);
    if (minimumCompatible !== null && minimumCompatible > version) {
      throw invalid(file, 'its minimum compatible version is above its own');
    }
    const checksum = createHash('sha256').update(text).digest('hex');
    migrations.push({ version, name, text, checksum, minimumCompatible });
  }
  return migrations;
}

/** Return the comment lines at the top of a migration. */
function headOf(text: string): string {
  const lines = text.split('\n');
  const end = lines.findIndex((line) => line.trim() !== '' && !line.startsWith('--'));
  return lines.slice(0, end === -1 ? undefined : end).join('\n');
}

/** Find the migrations to apply, in order. @throws AppError for an incompatible database */
function findPending(migrations: Migration[], applied: Applied[], minimumVersion: number): Migration[] {
  const newestKnown = migrations.at(-1)?.version ?? 0;
  if (minimumVersion > newestKnown) {
    throw unusable(
      `the database needs a release that knows migration ${minimumVersion}; this one knows up to ${newestKnown}. ` +
        'Run the release that migrated it, or a newer one.',
      'database_too_new',
      { details: { minimum_version: minimumVersion, newest_known_version: newestKnown } },
    );
  }
  const byVersion = new Map(applied.map((row) => [row.version, row]));
  const newestApplied = Math.max(0, ...byVersion.keys());
  return migrations.filter(({ version, name, checksum }) => {
    const row = byVersion.get(version);
    if (row === undefined) {
      if (version > newestApplied) return true;
      throw unusable(
        `migration ${version} (${name}) is not applied, but the database already has the later migration ${newestApplied}: give your migration a higher number`,
        'migration_out_of_order',
      );
    }
    if (row.checksum === checksum) return false;
    throw unusable(
      `migration ${version} (${name}) was changed after it had been applied: restore the file, and write a new migration for the change`,
      'migration_changed',
    );
  });
}

async function readApplied(sql: Sql): Promise<{ applied: Applied[]; minimumVersion: number }> {
  const [found] = await sql<{ exists: boolean }[]>`select to_regclass('schema_compatibility') is not null as exists`;
  if (found?.exists !== true) return { applied: [], minimumVersion: 0 };
  const rows = await sql<(Applied & { minimum_version: number })[]>`
    select m.version, m.name, m.checksum, m.applied_at, coalesce(c.minimum_version, 0) as minimum_version
    from schema_migrations m left join schema_compatibility c on true order by m.version`;
  const applied = rows.map(({ minimum_version: _, ...migration }) => migration);
  return { applied, minimumVersion: rows[0]?.minimum_version ?? 0 };
}

async function createTables(tx: Sql): Promise<void> {
  await tx.unsafe(`
    create table if not exists schema_migrations (
      version    integer primary key,
      name       text not null,
      checksum   text not null,
      applied_at timestamptz not null default now()
    );
    create table if not exists schema_compatibility (
      only_row        boolean primary key default true check (only_row),
      minimum_version integer not null
    );`);
}

async function apply(tx: Sql, migration: Migration): Promise<void> {
  const { version, name, text, checksum, minimumCompatible } = migration;
  try {
    await tx.unsafe(text);
  } catch (cause) {
    if (!(cause instanceof postgres.PostgresError) || mapPostgresError(cause) !== cause) throw cause;
    const { message, position } = cause;
    const line = position === undefined ? '' : `, line ${text.slice(0, Number(position)).split('\n').length}`;
    throw unusable(`migration ${version} (${name})${line}: ${message}; the database is unchanged`, 'migration_failed', {
      cause,
    });
  }
  await tx`insert into schema_migrations (version, name, checksum) values (${version}, ${name}, ${checksum})`;
  if (minimumCompatible === null) return;
  await tx`
    insert into schema_compatibility (minimum_version) values (${minimumCompatible})
    on conflict (only_row) do update
    set minimum_version = greatest(schema_compatibility.minimum_version, excluded.minimum_version)`;
}

function invalid(file: string, reason: string): AppError {
  return new AppError({ code: 'migration_invalid', status: 500, message: `migration ${file}: ${reason}` });
}
