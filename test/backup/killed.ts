import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { runService, startService } from '../cli/service.ts';
import { openTestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { createTestRandom } from '../support/random.ts';
import { makeFolder, openOtherMachine, searchTexts, secretKeyOf } from './support.ts';

const DOCUMENTS = 60;
/** Time within which a command is killed: a whole one takes about as long. */
const KILL_MS_MAX = 4_000;

/**
 * Kill the commands of backup and restore at random moments, and check that a backup is complete or refused, and that a
 * restore is finished by running it again.
 */
export async function checkKilledCommands(kills: number): Promise<void> {
  const source = await openTestApi();
  const folder = makeFolder();
  const other = await openOtherMachine(secretKeyOf(source.dataDir));
  const random = createTestRandom('killed commands');
  const env = { SERVICE_DATA_DIR: source.dataDir, DATABASE_URL: source.databaseUrl };
  const elsewhere = { SERVICE_DATA_DIR: other.dataDir, DATABASE_URL: other.database.url };
  const kill = async (args: string[], of: NodeJS.ProcessEnv) => {
    const { child, finished } = startService(args, of);
    await Promise.race([delay(random.int(KILL_MS_MAX)), finished]);
    child.kill('SIGKILL');
    await finished;
  };
  try {
    const documents = Array.from({ length: DOCUMENTS }, (_, nth) => ({
      ...{ id: String(nth), fileName: `log-${nth}.txt`, text: `Log ${nth} of the ship names harbour${nth}.` },
    }));
    await ingestAll(source.appliance, source.operator, 'default', documents);
    for (let nth = 0; nth < kills; nth++) {
      await kill(['db', 'backup', '--to', folder.directory], env);
      const verified = await runService(['db', 'verify', folder.directory, '--json'], env);
      if (verified.code === 0) continue;
      expect(verified.json().error.code).toMatch(/^backup_(not_found|unfinished)$/);
    }
    expect(await runService(['db', 'backup', '--to', folder.directory], env)).toMatchObject({ code: 0 });
    for (let nth = 0; nth < kills; nth++) await kill(['db', 'restore', folder.directory], elsewhere);
    const restored = await runService(['db', 'restore', folder.directory, '--json'], elsewhere);
    // A restore that was complete before its kill is not repeated without --force.
    if (restored.code !== 0) expect(restored.json().error.code).toBe('installation_not_empty');
    const appliance = await other.open();
    const caller = await appliance.access.operator('default');
    for (let nth = 0; nth < DOCUMENTS; nth++) {
      const [first] = await searchTexts(appliance, caller, 'default', `harbour${nth}`);
      expect(first?.[0]).toContain(`harbour${nth}.`);
    }
    await appliance.close();
  } finally {
    await source.close();
    await other.remove();
    folder.remove();
  }
}
