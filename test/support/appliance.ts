import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Caller } from '../../src/access/caller.ts';
import { type Appliance, openAppliance } from '../../src/platform/compose.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { createTestDatabase } from './postgres.ts';

export interface TestAppliance {
  readonly appliance: Appliance;
  /** The operator, acting for organization `default`. */
  readonly operator: Caller;
  readonly dataDir: string;
  close(): Promise<void>;
}

/** A data directory that another user may pass through, as embedded PostgreSQL needs under root. */
export function makeDataDir(): { dataDir: string; remove: () => void } {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'service-test-'));
  chmodSync(dataDir, 0o711);
  return { dataDir, remove: () => rmSync(dataDir, { recursive: true, force: true }) };
}

/** A whole installation on a database of its own; only its PostgreSQL server is shared with other tests. */
export async function openTestAppliance(overrides: Record<string, unknown> = {}): Promise<TestAppliance> {
  const database = await createTestDatabase();
  const { dataDir, remove } = makeDataDir();
  const config = loadConfig({ env: {}, overrides: { data_dir: dataDir, database_url: database.url, ...overrides } });
  const appliance = await openAppliance(config, { logger: openLogger('error'), poolMax: 10 });
  return {
    appliance,
    operator: await appliance.operator('default'),
    dataDir,
    async close() {
      await appliance.close();
      await database.drop();
      remove();
    },
  };
}
