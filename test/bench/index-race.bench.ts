/**
 * Race of two processes that append to and drop from one bucket's index at random, and a third that reads the whole
 * index: 1,000 operations on disk and on S3. To show the effect of the lock and the store, three LanceDB writers then
 * write without the lock to a store that honours conditional writes, and to one that ignores them.
 */
import path from 'node:path';
import { connect } from '@lancedb/lancedb';
import { MIGRATIONS } from '../../src/appliance/stores.ts';
import { indexOnS3 } from '../../src/index/lance/index-on-s3.ts';
import { openEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { migrate } from '../../src/platform/migrate.ts';
import { openPostgres, postgresUrl } from '../../src/platform/postgres.ts';
import { makeDataDir } from '../support/appliance.ts';
import { findServers } from '../support/find-servers.ts';
import { type IndexPlace, runIndexRace } from '../support/index-race.ts';
import { s3Settings, startS3 } from '../support/s3.ts';
import { startS3Proxy } from '../support/s3-proxy.ts';

const OPERATIONS = 1_000;
const WRITERS = 3;
const ROWS_EACH = 30;

const { dataDir, remove } = makeDataDir();
const server = await openEmbeddedPostgres({ dataDir, logger: openLogger('warn') });
const s3 = findServers().s3 ? await startS3() : null;

async function race(name: string, place: IndexPlace): Promise<void> {
  const admin = openPostgres(server.connection, { poolMax: 1, applicationName: 'bench' });
  await admin`CREATE DATABASE ${admin(`race_${name}`)}`;
  await admin.end();
  const connection = { ...server.connection, database: `race_${name}` };
  const sql = openPostgres(connection, { poolMax: 4, applicationName: 'bench' });
  try {
    await migrate(sql, { directory: MIGRATIONS });
    const databaseUrl = postgresUrl(connection);
    const report = await runIndexRace(sql, { databaseUrl, place, operations: OPERATIONS, seed: 7 });
    const { rowsExpected, rowsLost, rowsDoubled, rowsLeftOver, reads, readFaults, versions, seconds } = report;
    console.log(
      `${name}: ${OPERATIONS} operations in ${seconds.toFixed(1)} s, ${versions} versions; of ${rowsExpected} rows ` +
        `${rowsLost} lost, ${rowsDoubled} doubled, ${rowsLeftOver} left over; ${reads} reads, ${readFaults.length} wrong`,
    );
    if (rowsLost + rowsDoubled + rowsLeftOver + readFaults.length > 0) process.exitCode = 1;
  } finally {
    await sql.end();
  }
}

/** Compare the rows that writers without a lock had acknowledged with those that are stored. */
async function raceBare(endpoint: string): Promise<string> {
  if (s3 === null) return '';
  const [uri, storageOptions] = indexOnS3(s3Settings(endpoint, await s3.createBucket()));
  const open = () => connect(uri, { storageOptions });
  const first = await open();
  await first.createTable('t', [{ id: -1 }]);
  let added = 1;
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      const table = await (await open()).openTable('t');
      for (let n = 0; n < ROWS_EACH; n++) {
        await table.add([{ id: writer * ROWS_EACH + n }]).then(
          () => added++,
          () => undefined, // The writer knows of the failure, so the row does not count as lost.
        );
      }
    }),
  );
  const table = await first.openTable('t');
  await table.checkoutLatest();
  return `${added} rows written by ${WRITERS} writers, ${added - (await table.countRows())} of them lost without an error`;
}

try {
  await race('disk', [path.join(dataDir, 'index')]);
  if (s3 !== null) {
    await race('s3', indexOnS3(s3Settings(s3.endpoint, await s3.createBucket())));
    const dishonest = await startS3Proxy(s3.endpoint, { isDishonest: true });
    console.log(`no lock, conditional writes honoured: ${await raceBare(s3.endpoint)}`);
    console.log(`no lock, conditional writes ignored: ${await raceBare(dishonest.endpoint)}`);
    await dishonest.close();
  }
} finally {
  await s3?.drop();
  await server.release();
  remove();
}
