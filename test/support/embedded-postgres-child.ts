import { setTimeout as delay } from 'node:timers/promises';
import { openEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts';
import { openPostgres } from '../../src/platform/postgres.ts';
import { createRandom } from './random.ts';

// Tests start this script, and some kill it: `embedded-postgres-child.ts <data dir> <rounds> <pause ms> <seed>`.
// Each round opens the server, uses it twice and releases it. `using` is sent while it is open.
const [dataDir = '', rounds = '1', pauseMs = '0', seed = '1'] = process.argv.slice(2);
const random = createRandom(Number(seed));
for (let round = 0; round < Number(rounds); round++) {
  const server = await openEmbeddedPostgres({ dataDir, settings: { fsync: 'off' } });
  const sql = openPostgres(server.connection, { poolMax: 1, applicationName: 'child' });
  await sql`select 1`;
  process.send?.('using');
  await delay(random.real() * Number(pauseMs));
  await sql`select 1`; // This fails if another process has stopped the server.
  await sql.end();
  await server.release();
}
process.disconnect?.();
