/**
 * Benchmark of connected sources with the built-in model: the rows of a PostgreSQL table, from the beginning of the
 * synchronisation to the last searchable document, beside plain uploads of the same texts; and the check of an unchanged
 * folder. Arguments set the number of rows and of files.
 */
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Caller } from '../../src/access/caller.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { openFolderReader } from '../../src/memory/readers/folder-reader.ts';
import { NewSource } from '../../src/memory/schema.ts';
import { createSource, findSource, syncNow } from '../../src/memory/sources.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openPostgres, postgresUrl, type Sql } from '../../src/platform/postgres.ts';
import { Secret } from '../../src/platform/secret.ts';
import { makeDataDir } from '../support/appliance.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { makeFolder } from '../support/memory.ts';
import { createRandom } from '../support/random.ts';
import { until } from '../support/until.ts';

const ROWS = Number(process.argv[2] ?? 10_000);
const FILES = Number(process.argv[3] ?? 100_000);
const TEXT_CHARS = 1_000;
/** Number of parts of the rows, measured in turn, since the machine's speed varies. */
const ROUNDS = 4;
const FILES_PER_FOLDER = 100;
/** Modification time of files, old enough for a synchronisation to treat them as settled. */
const LONG_AGO = new Date('2024-03-01T12:00:00Z');
const WORDS = 'harbour tide lens bearing granite orchard ferry ledger saline pylon quarry meadow cobalt lantern'.split(
  ' ',
);

/** Goals: speed of rows as a share of the speed of uploads, and duration of the check. */
const SHARE_MIN = 0.9;
const CHECK_SECONDS_MAX = 5;

function makeText(index: number): string {
  const random = createRandom(index + 1);
  let text = `Report ${index}. `;
  while (text.length < TEXT_CHARS) {
    text += `The ${Array.from({ length: 8 + random.int(10) }, () => random.pick(WORDS)).join(' ')}. `;
  }
  return text;
}

const source = makeDataDir();
const own = makeDataDir();
const root = makeFolder();
const server = await openEmbeddedPostgres({ dataDir: source.dataDir });
const tables = openPostgres(server.connection, { poolMax: 1, applicationName: 'bench' });
await tables`CREATE ROLE bench_reader LOGIN PASSWORD 'windlass'`;
const crm = postgresUrl({ ...server.connection, username: 'bench_reader', password: new Secret('windlass') });
const sources = { crm: { type: 'postgres', url: crm }, docs: { type: 'folder', root: root.folder } };
const config = loadConfig({ env: {}, overrides: { data_dir: own.dataDir, sources, source_roots: [root.folder] } });
const appliance = await openAppliance(config, { logger: openLogger('warn') });
const worker = appliance.jobs.worker('ingest');
try {
  await worker.start(new AbortController().signal);
  const operator = await appliance.access.operator('default');
  await measureRows(appliance, operator, tables);
  await measureCheck(appliance, operator);
} finally {
  await worker.stop();
  await appliance.close();
  await tables.end();
  await server.release();
  for (const { remove } of [source, own, root]) remove();
}

async function measureRows(appliance: Appliance, caller: Caller, tables: Sql): Promise<void> {
  const perRound = Math.ceil(ROWS / ROUNDS);
  await tables`CREATE TABLE reports (id integer PRIMARY KEY, round integer, body text)`;
  await tables`GRANT SELECT ON reports TO bench_reader`;
  const all = Array.from({ length: ROUNDS * perRound }, (_, id) => ({ id, round: id % ROUNDS, body: makeText(id) }));
  for (let from = 0; from < all.length; from += 1_000) {
    await tables`INSERT INTO reports ${tables(all.slice(from, from + 1_000))}`;
  }
  // Warm-up: the first documents start threads and compile code.
  await upload('warm-up', all.slice(0, 200));
  const seconds = { plain: 0, synced: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    const rows = all.filter((row) => row.round === round);
    const plain = async () => {
      seconds.plain += await upload(`plain-${round}`, rows);
    };
    const synced = async () => {
      seconds.synced += await synchronise(`synced-${round}`, round, rows.length);
    };
    for (const measure of round % 2 === 0 ? [plain, synced] : [synced, plain]) await measure();
  }
  const share = seconds.plain / seconds.synced;
  const perSecond = (taken: number) => (all.length / taken).toFixed(0);
  console.log(
    `sources  ${all.length} rows of ${TEXT_CHARS} characters: ${perSecond(seconds.synced)} rows/s; uploads of the same ` +
      `texts ${perSecond(seconds.plain)}/s; share ${(100 * share).toFixed(0)} % (goal >= ${100 * SHARE_MIN} %)`,
  );

  async function upload(bucket: string, rows: readonly { id: number; body: string }[]): Promise<number> {
    await createBucket(appliance.sql, caller, { name: bucket, policy: BucketPolicy.parse({}) });
    const documents = rows.map(({ id, body }) => ({ id: String(id), fileName: `reports-${id}.txt`, text: body }));
    const { perSecond } = await ingestAll(appliance, caller, bucket, documents);
    return rows.length / perSecond;
  }

  async function synchronise(bucket: string, round: number, rows: number): Promise<number> {
    await createBucket(appliance.sql, caller, { name: bucket, policy: BucketPolicy.parse({}) });
    const config = { table: 'reports', text: '{{body}}', where: { round } };
    const request = NewSource.parse({ name: bucket, connection: 'crm', bucket, config });
    const { id } = await createSource(appliance.memory, caller, request);
    const beganMs = performance.now();
    await syncNow(appliance.memory, caller, id);
    await until(async () => (await findSource(appliance.sql, caller, id)).indexed_document_count === rows, {
      ...{ withinMs: 600_000, everyMs: 50, what: 'the documents of all rows' },
    });
    return (performance.now() - beganMs) / 1_000;
  }
}

/** Measure the synchronisation of a folder with known entries, from queueing to end. */
async function measureCheck(appliance: Appliance, caller: Caller): Promise<void> {
  for (let index = 0; index < FILES; index++) {
    const folder = path.join(root.folder, `folder-${Math.floor(index / FILES_PER_FOLDER)}`);
    if (index % FILES_PER_FOLDER === 0) mkdirSync(folder);
    const file = path.join(folder, `file-${index}.txt`);
    writeFileSync(file, `Text of file ${index}.`);
    utimesSync(file, LONG_AGO, LONG_AGO);
  }
  const request = NewSource.parse({ name: 'folder', connection: 'docs', bucket: 'default' });
  const { id } = await createSource(appliance.memory, caller, request);
  await recordEntries(appliance, caller.orgId, id);
  const taken: number[] = [];
  for (let round = 0; round < 3; round++) {
    const beganMs = performance.now();
    await syncNow(appliance.memory, caller, id);
    const synced = await until(
      async () => {
        const now = await findSource(appliance.sql, caller, id);
        return now.sync_state !== 'syncing' && now;
      },
      { withinMs: 600_000, everyMs: 20, what: 'the end of the synchronisation' },
    );
    taken.push((performance.now() - beganMs) / 1_000);
    if (synced.counts.unchanged !== FILES) throw new Error('the folder was not unchanged');
  }
  const shown = taken.map((seconds) => seconds.toFixed(1)).join(', ');
  console.log(`sources  check of an unchanged folder of ${FILES} files: ${shown} s (goal <= ${CHECK_SECONDS_MAX} s)`);
}

/** Record the files as a synchronisation would. A check doesn't need their documents. */
async function recordEntries({ sql, config, threads }: Appliance, orgId: string, sourceId: string): Promise<void> {
  const options = { root: root.folder, path: '.', globs: {}, dataDir: config.dataDir, bytesMax: 1_000, threads };
  for await (const { entries } of openFolderReader(options).list(new AbortController().signal)) {
    const rows = entries.map(({ key, version, sizeBytes }) => ({ key, version, size: sizeBytes }));
    await sql`
      INSERT INTO source_entries (id, org_id, source_id, key, version, size_bytes, sha256, job_id)
      SELECT 'ent_' || md5(key), ${orgId}, ${sourceId}, key, version, size, '\\x00', 'job_bench'
      FROM jsonb_to_recordset(${sql.json(rows)}) AS entry (key text, version text, size bigint)`;
  }
}
