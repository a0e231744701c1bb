import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { JobWorker } from '../../src/jobs/worker.ts';
import { NewSource, type SourceView, type SyncRequest } from '../../src/memory/schema.ts';
import { createSource, findSource, syncNow } from '../../src/memory/sources.ts';
import { openPostgres, postgresUrl, type Sql } from '../../src/platform/postgres.ts';
import { Secret } from '../../src/platform/secret.ts';
import type { TestAppliance } from './appliance.ts';
import { createTestDatabase, type TestDatabase } from './postgres.ts';
import { until } from './until.ts';

/** Create an empty folder, and return its real path. */
export function makeFolder(): { folder: string; remove: () => void } {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'service-source-')));
  mkdirSync(folder, { recursive: true });
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

export interface SourceDatabase {
  /** Administrator's connection, for filling tables. */
  readonly sql: Sql;
  /** URL of a role that may only read. */
  readonly url: string;
  /** URL of a superuser. */
  readonly superuserUrl: string;
  drop(): Promise<void>;
}

/** Create a database to read rows from, and a role that only has SELECT in the schema public. */
export async function createSourceDatabase(): Promise<SourceDatabase> {
  const database: TestDatabase = await createTestDatabase({ isEmpty: true });
  const role = `reader_${database.connection.database.slice(5)}`;
  const { sql } = database;
  await sql.unsafe(`CREATE ROLE ${role} LOGIN PASSWORD 'windlass'`);
  await sql.unsafe(`ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO ${role}`);
  const reader = { ...database.connection, username: role, password: new Secret('windlass') };
  return {
    sql,
    url: postgresUrl(reader),
    superuserUrl: postgresUrl(database.connection),
    async drop() {
      await sql.unsafe(`DROP OWNED BY ${role}`);
      await database.drop();
      const admin = openPostgres(
        { ...database.connection, database: 'postgres' },
        { poolMax: 1, applicationName: 'test' },
      );
      await admin.unsafe(`DROP ROLE ${role}`);
      await admin.end();
    },
  };
}

/** Create a worker only for synchronisations. The ingest jobs that they queue stay queued and can be counted. */
export function syncWorker({ appliance }: TestAppliance): JobWorker {
  const { sql, notifier, logger, metrics, memory } = appliance;
  const options = { concurrency: 2, leaseMs: 10_000, retriesMax: 1, sweepMs: 50 };
  return new JobWorker({ sql, notifier, logger, metrics }, memory.jobs, options);
}

export function addSource(test: TestAppliance, request: Record<string, unknown>): Promise<SourceView> {
  const { memory } = test.appliance;
  return createSource(memory, test.operator, NewSource.parse({ bucket: 'default', ...request }));
}

/** Synchronise a source and wait for the end. */
export async function sync(
  { appliance, operator }: TestAppliance,
  id: string,
  request?: SyncRequest,
): Promise<SourceView> {
  await syncNow(appliance.memory, operator, id, request);
  return ended({ appliance, operator }, id);
}

/** Wait until a source is not being synchronised. */
export function ended(
  { appliance, operator }: Pick<TestAppliance, 'appliance' | 'operator'>,
  id: string,
): Promise<SourceView> {
  return until(
    async () => {
      const source = await findSource(appliance.sql, operator, id);
      return source.sync_state !== 'syncing' && source;
    },
    { withinMs: 120_000, what: 'the end of a synchronisation' },
  );
}

/** Count the ingest jobs that sources have queued, of all states: each is one document that is embedded. */
export async function countIngestJobs(sql: Sql): Promise<number> {
  const [row] = await sql`
    SELECT count(*)::int AS n FROM jobs WHERE kind = 'ingest' AND processing_type = 'source_connector'`;
  return row?.['n'] as number;
}
