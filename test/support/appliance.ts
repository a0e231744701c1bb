import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Caller } from '../../src/access/caller.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { type Logger, openLogger } from '../../src/platform/logger.ts';
import type { PostgresConnection } from '../../src/platform/postgres.ts';
import { createTestDatabase } from './postgres.ts';

export interface TestAppliance {
  readonly appliance: Appliance;
  /** The operator, acting for organization `default`. */
  readonly operator: Caller;
  readonly dataDir: string;
  readonly databaseUrl: string;
  /** The same, in parts. */
  readonly connection: PostgresConnection;
  close(): Promise<void>;
}

export interface TestApplianceOptions {
  /** On the database and data directory of this one, as a second process of the same installation; it outlives it. */
  readonly beside?: TestAppliance;
  /** Errors on stderr, unless told otherwise. */
  readonly logger?: Logger;
}

/** A data directory that another user may pass through, as embedded PostgreSQL needs under root. */
export function makeDataDir(): { dataDir: string; remove: () => void } {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'service-test-'));
  chmodSync(dataDir, 0o711);
  return { dataDir, remove: () => rmSync(dataDir, { recursive: true, force: true }) };
}

/** A whole installation on a database of its own; only its PostgreSQL server is shared with other tests. */
export async function openTestAppliance(
  overrides: Record<string, unknown> = {},
  { beside, logger = openLogger('error') }: TestApplianceOptions = {},
): Promise<TestAppliance> {
  const place = beside ?? (await makePlace());
  const { dataDir, databaseUrl, connection } = place;
  const config = loadConfig({ env: {}, overrides: { data_dir: dataDir, database_url: databaseUrl, ...overrides } });
  const appliance = await openAppliance(config, { logger, poolMax: 10 });
  return {
    appliance,
    operator: await appliance.access.operator('default'),
    dataDir,
    databaseUrl,
    connection,
    async close() {
      await appliance.close();
      if (!beside) await place.close();
    },
  };
}

async function makePlace(): Promise<Pick<TestAppliance, 'dataDir' | 'databaseUrl' | 'connection' | 'close'>> {
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
