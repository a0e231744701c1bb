import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Caller } from '../../src/access/caller.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import type { Installation } from '../../src/appliance/open-installation.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { type Logger, openLogger } from '../../src/platform/logger.ts';
import type { PostgresConnection } from '../../src/platform/postgres.ts';
import { createTestDatabase } from './postgres.ts';

const KEPT_POLL_MS = 20;
const KEPT_POLLS_MAX = 500;

/** Address of the Milvus that holds all buckets of a run of `npm run test:milvus`. */
const MILVUS_URL = process.env['TEST_MILVUS_URL'];
/** True if buckets are on Milvus by default. */
export const bucketsAreOnMilvus = MILVUS_URL !== undefined;

export interface TestAppliance {
  readonly appliance: Appliance;
  /** Caller of the command line, acting for organization `default`. */
  readonly operator: Caller;
  readonly dataDir: string;
  readonly databaseUrl: string;
  /** Connection settings of `databaseUrl`. */
  readonly connection: PostgresConnection;
  close(): Promise<void>;
}

export interface TestApplianceOptions {
  /** Installation whose database and data directory to share, like a second process. Close it last. */
  readonly beside?: TestAppliance;
  /** Default: errors on stderr. */
  readonly logger?: Logger;
}

/** Create a data directory that other users may traverse, as embedded PostgreSQL needs under root. */
export function makeDataDir(): { dataDir: string; remove: () => void } {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'service-test-'));
  chmodSync(dataDir, 0o711);
  return {
    dataDir,
    remove() {
      endKeptPostgres(dataDir);
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** End an embedded PostgreSQL that a command left running for the next command. */
function endKeptPostgres(dataDir: string): void {
  const file = path.join(dataDir, 'postgres', 'postmaster.pid');
  if (!existsSync(file)) return;
  const pid = Number.parseInt(readFileSync(file, 'utf8'), 10);
  try {
    process.kill(pid, 'SIGQUIT');
    for (let left = KEPT_POLLS_MAX; left > 0; left--) {
      process.kill(pid, 0);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, KEPT_POLL_MS);
    }
  } catch {
    // It has ended.
  }
}

/** Open a whole installation on its own database. Only the PostgreSQL server is shared with other tests. */
export async function openTestAppliance(
  overrides: Record<string, unknown> = {},
  { beside, logger = openLogger('error') }: TestApplianceOptions = {},
): Promise<TestAppliance> {
  const storage = beside ?? (await makeStorage());
  const { dataDir, databaseUrl, connection } = storage;
  // A job with an unavailable vendor fails immediately unless a test sets a window.
  const settings = {
    data_dir: dataDir,
    database_url: databaseUrl,
    ballast_bytes: 0,
    source_roots: ['/'],
    ...(MILVUS_URL === undefined ? {} : { index: { milvus: { url: MILVUS_URL } } }),
    ...overrides,
  };
  const bulk = { retry_window_hours: 0, ...(overrides['bulk'] as object | undefined) };
  // Tests of refusals send many, so don't slow them unless a test asks for it.
  const limits = { failed_logins_per_minute: 1e6, ...(overrides['limits'] as object | undefined) };
  // Most tests don't need a semantic model, and the lexical model starts no process.
  const embeddings = { built_in: 'lexical', ...(overrides['embeddings'] as object | undefined) };
  const config = loadConfig({ env: {}, overrides: { ...settings, bulk, limits, embeddings } });
  const appliance = await openAppliance(config, { logger, poolMax: 10 });
  return {
    appliance,
    operator: await appliance.access.operator('default'),
    dataDir,
    databaseUrl,
    connection,
    async close() {
      await appliance.close();
      if (!beside) await storage.close();
    },
  };
}

/** Wrap an open appliance as an installation with all parts open. Closing it has no effect. */
export function installationOf(appliance: Appliance): Installation {
  return { open: async () => appliance, close: async () => undefined };
}

async function makeStorage(): Promise<Pick<TestAppliance, 'dataDir' | 'databaseUrl' | 'connection' | 'close'>> {
  const database = await createTestDatabase();
  const { dataDir, remove } = makeDataDir();
  return {
    dataDir,
    databaseUrl: database.url,
    connection: database.connection,
    async close() {
      await database.drop();
      remove();
    },
  };
}
