import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { IndexedGeneration } from '../../src/index/chunk-index.ts';
import { getIndexTable } from '../../src/index/index-store.ts';
import { toArrowTable } from '../../src/index/lance/chunk-table.ts';
import { LanceTables, TOKEN_INDEX_NAME } from '../../src/index/lance/lance.ts';
import { LanceIndex } from '../../src/index/lance/lance-index.ts';
import { searchKeywords } from '../../src/index/lance/legs.ts';
import { settleInChild } from '../../src/index/lance/settle-process.ts';
import { isIndexed } from '../../src/index/lance/table-state.ts';
import { VECTOR_INDEX_NAME } from '../../src/index/lance/vector-index.ts';
import { IndexWriter } from '../../src/index/writing/index-writer.ts';
import { type ReindexRun, startReindexRun } from '../../src/index/writing/reindex-store.ts';
import { buildIndexesAhead } from '../../src/index/writing/replace-table.ts';
import { weighTerms } from '../../src/language/analyser.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { inTransaction } from '../../src/platform/postgres.ts';
import { INDEX_DIMENSIONS } from '../../src/projection/resize.ts';
import { makeDataDir } from '../support/appliance.ts';
import { registerGeneration } from '../support/generations.ts';
import { originIn } from '../support/origins.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';

const BUCKET = 'bkt_settle';
/** Rows of a generation, two of which are settled between commits in a child process. */
const ROWS = 5_000;
const signal = new AbortController().signal;

let db: TestDatabase;
let directory: { dataDir: string; remove: () => void };
let tables: LanceTables;
let writer: IndexWriter;
let cleanups: (() => unknown)[] = [];

beforeEach(async () => {
  db = await createTestDatabase();
  directory = makeDataDir();
  tables = new LanceTables(path.join(directory.dataDir, 'index'));
  writer = new IndexWriter({
    sql: db.sql,
    direct: db.sql,
    chunks: new LanceIndex(tables),
    logger: openLogger('silent'),
  });
});
afterEach(async () => {
  for (const cleanup of cleanups) await cleanup();
  cleanups = [];
  await writer.close();
  await tables.close();
  await db.drop();
  directory.remove();
});

function generation(id: number): IndexedGeneration {
  const vectors = new Float32Array(ROWS * INDEX_DIMENSIONS);
  for (let row = 0; row < ROWS; row++) vectors[row * INDEX_DIMENSIONS + (row % INDEX_DIMENSIONS)] = 1;
  return {
    vectors,
    chunks: Array.from({ length: ROWS }, (_, index) => ({
      ...{ chunkId: `doc_${id}_${id}_${index}`, documentId: `doc_${id}`, generation: id, collectionId: null },
      ...{ chunkIndex: index, text: `heron ${id} ${index}`, tokens: `heron word${id}x${index}` },
      locator: { page: null, heading_path: [], start: 0, end: 5 },
      ...{ modality: 'text' as const, privacyLevel: 1, eventTimeMs: null },
    })),
  };
}

async function register(id: number, rows = ROWS): Promise<void> {
  await registerGeneration(db.sql, { id, orgId: 'org_x', bucketId: BUCKET, chunks: rows });
}

async function append(id: number): Promise<void> {
  await register(id);
  await writer.append(BUCKET, generation(id), originIn('lexical-1'));
}

async function read() {
  const own = await getIndexTable(db.sql, BUCKET);
  const table = own && (await tables.openForReading(own.name, own.version));
  if (!table) throw new Error('no table');
  return table;
}

async function expectWhole(): Promise<void> {
  const table = await read();
  expect(await table.countRows()).toBe(2 * ROWS);
  for (const word of ['word1x0', `word1x${ROWS - 1}`, 'word2x17', `word2x${ROWS - 1}`]) {
    const found = await searchKeywords(table, weighTerms([word]), { limit: 10, documentIds: null });
    expect(found.map((each) => each.chunkId)).toHaveLength(1);
  }
}

const unindexed = async () => (await (await read()).indexStats(TOKEN_INDEX_NAME))?.numUnindexedRows;

/** Processes that this one has started to settle a table. */
function settling(): number[] {
  return readdirSync(`/proc/${process.pid}/task`).flatMap((thread) => {
    const children = readFileSync(`/proc/${process.pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean);
    return children.filter((pid) => about(pid, 'cmdline').includes('settle-child.ts')).map(Number);
  });
}

function about(pid: number | string, what: 'cmdline' | 'environ'): string {
  try {
    return readFileSync(`/proc/${pid}/${what}`, 'utf8');
  } catch {
    return ''; // It has ended meanwhile.
  }
}

async function killFirst(): Promise<number> {
  const [pid] = await until(async () => (settling().length > 0 ? settling() : null), { everyMs: 5, what: 'a child' });
  process.kill(pid as number, 'SIGKILL');
  return pid as number;
}

/** An object store that takes connections and never answers. */
async function openSilentStore(): Promise<{
  uri: string;
  storageOptions: Record<string, string>;
  wasCalled: () => boolean;
}> {
  let isCalled = false;
  const server = createServer((socket) => {
    isCalled = true;
    socket.on('error', () => {});
    cleanups.push(() => socket.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  cleanups.push(() => server.close());
  const storageOptions = {
    aws_endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ aws_region: 'us-east-1', allow_http: 'true', timeout: '60s' },
    ...{ aws_access_key_id: 'canary-id-4711', aws_secret_access_key: 'canary-secret-0815' },
  };
  return { uri: 's3://bucket/index', storageOptions, wasCalled: () => isCalled };
}

it('the indexes of a table are built before its last rows are written, and searches find all of it', async () => {
  const name = `${BUCKET}_rpj_x`;
  const table = await tables.openForWriting(name);
  const [first, second] = [generation(1), generation(2)];
  const rowsOfSecond = (from: number, to: number): IndexedGeneration => ({
    chunks: second.chunks.slice(from, to),
    vectors: second.vectors.slice(from * INDEX_DIMENSIONS, to * INDEX_DIMENSIONS),
  });
  const add = (rows: IndexedGeneration) => table.add(toArrowTable([rows]) as never);
  const run: ReindexRun = {
    ...{ id: 'rpj_x', bucketId: BUCKET, tableName: name, kind: 'rebuild', jobId: null },
    origin: originIn('lexical-1'),
  };
  const indexes = buildIndexesAhead({ sql: db.sql, direct: db.sql, chunks: new LanceIndex(tables) }, run, 2 * ROWS);
  await add(first);
  indexes.written(ROWS);
  await indexes.finish();
  expect(await isIndexed(table)).toBe(false);
  await add(rowsOfSecond(0, 4_000));
  indexes.written(ROWS + 4_000);
  await indexes.finish();
  await table.checkoutLatest();
  expect(await table.indexStats(TOKEN_INDEX_NAME)).toMatchObject({ numIndexedRows: ROWS + 4_000, numUnindexedRows: 0 });
  await add(rowsOfSecond(4_000, ROWS));
  expect(await isIndexed(table)).toBe(true);
  for (const word of ['word1x0', `word1x${ROWS - 1}`, 'word2x17', `word2x${ROWS - 1}`]) {
    const found = await searchKeywords(table, weighTerms([word]), { limit: 10, documentIds: null });
    expect(found).toHaveLength(1);
  }
});

it('rows are appended while an index is built, all are found, and a builder that is killed leaves a usable table', async () => {
  const name = `${BUCKET}_rpj_y`;
  const run: ReindexRun = {
    ...{ id: 'rpj_y', bucketId: BUCKET, tableName: name, kind: 'rebuild', jobId: null },
    origin: originIn('lexical-1'),
  };
  await inTransaction(db.sql, (tx) => startReindexRun(tx, run));
  let appended = 0;
  const appendSome = async (count: number) => {
    const { chunks, vectors } = generation(++appended);
    await register(appended, count);
    const rows = { chunks: chunks.slice(0, count), vectors: vectors.slice(0, count * INDEX_DIMENSIONS) };
    await writer.append(BUCKET, rows, run.origin, { run: run.id });
  };
  for (let nth = 0; nth < 4; nth++) await appendSome(ROWS);
  const table = await tables.openForWriting(name);
  const buildBeside = async (kill: boolean) => {
    const indexes = buildIndexesAhead({ sql: db.sql, direct: db.sql, chunks: new LanceIndex(tables) }, run, 40_000);
    let isBuilding = true;
    indexes.written(40_000);
    const built = indexes.finish().then(() => {
      isBuilding = false;
    });
    const pid = await until(async () => settling()[0] ?? null, { everyMs: 5, what: 'a child' });
    // It is stopped for the first of them, so that they cannot wait for its end.
    process.kill(pid, 'SIGSTOP');
    await appendSome(50);
    process.kill(pid, kill ? 'SIGKILL' : 'SIGCONT');
    // Not until its end: it has a lower priority, and would hardly run beside other tests on the same cores.
    for (let nth = 0; isBuilding && nth < 20; nth++) await appendSome(50);
    await built;
    await table.checkoutLatest();
  };
  await buildBeside(true);
  await buildBeside(false);
  await appendSome(50);
  await table.checkoutLatest();
  expect(await table.countRows()).toBe(4 * ROWS + (appended - 4) * 50);
  expect((await table.indexStats(VECTOR_INDEX_NAME))?.numIndexedRows).toBeGreaterThanOrEqual(4 * ROWS);
  expect((await table.indexStats(TOKEN_INDEX_NAME))?.numIndexedRows).toBeGreaterThanOrEqual(4 * ROWS);
  for (let id = 1; id <= appended; id++) {
    const word = id <= 4 ? `word${id}x${ROWS - 1}` : `word${id}x49`;
    expect(await searchKeywords(table, weighTerms([word]), { limit: 10, documentIds: null })).toHaveLength(1);
  }
  await writer.dropBucket(BUCKET, signal);
  expect(await tables.has(name)).toBe(false);
});

it('a large table is settled in a child process, and searches find all of it', async () => {
  await append(1);
  const seen: number[] = [];
  const watch = setInterval(() => seen.push(...settling()), 5);
  cleanups.push(() => clearInterval(watch));
  await append(2);
  expect(new Set(seen).size).toBe(1);
  expect(settling()).toEqual([]);
  expect(await unindexed()).toBe(0);
  await expectWhole();
});

it('a commit does not fail if the settling after it is killed', async () => {
  await append(1);
  await Promise.all([append(2), killFirst()]);
  await expectWhole();
  await writer.optimize(BUCKET, signal);
  expect(await unindexed()).toBe(0);
  await expectWhole();
});

it('a settling that is killed at any moment is a retryable error and harms nothing', async () => {
  await append(1);
  await Promise.all([append(2), killFirst()]);
  for (const afterMs of [0, 300, 450, 600]) {
    const settled = writer.optimize(BUCKET, signal).then(
      () => null,
      (error: unknown) => error,
    );
    const [pid] = await until(async () => (settling().length > 0 ? settling() : null), { everyMs: 5 });
    const timer = setTimeout(() => about(pid as number, 'cmdline') && process.kill(pid as number, 'SIGKILL'), afterMs);
    cleanups.push(() => clearTimeout(timer));
    const error = await settled;
    // The last kills may have come too late.
    if (afterMs === 0 || error !== null) {
      expect(error).toMatchObject({ code: 'settle_failed', status: 503, retryable: true });
    }
    await expectWhole();
  }
  await writer.optimize(BUCKET, signal);
  expect(await unindexed()).toBe(0);
  await expectWhole();
});

function startChild(): ChildProcess {
  const module = fileURLToPath(new URL('../../src/index/lance/settle-child.ts', import.meta.url));
  const child = spawn(process.execPath, ['--no-warnings', module], { stdio: ['pipe', 'ignore', 'ignore'] });
  cleanups.push(() => child.kill('SIGKILL'));
  return child;
}

it('the child process ends with its parent, before it has a task and in the middle of its work', async () => {
  const idle = startChild();
  idle.stdin?.end();
  expect(await once(idle, 'exit')).toEqual([3, null]);
  const { uri, storageOptions, wasCalled } = await openSilentStore();
  const busy = startChild();
  busy.stdin?.write(
    `${JSON.stringify({ uri, storageOptions, name: 'bkt_x', step: 'merge', cleanupOlderThanMs: 0 })}\n`,
  );
  await until(async () => wasCalled(), { what: 'a request of the store' });
  const exited = once(busy, 'exit');
  busy.stdin?.end();
  expect(await exited).toEqual([3, null]);
});

it('the secrets of the storage reach the child process by nothing that other processes can see', async () => {
  const { uri, storageOptions, wasCalled } = await openSilentStore();
  const settled = settleInChild({ uri, storageOptions, name: 'bkt_x', step: 'merge', cleanupOlderThanMs: 0 });
  settled.catch(() => {});
  await until(async () => wasCalled(), { what: 'a request of the store' });
  const [pid = 0] = settling();
  expect(about(pid, 'cmdline')).toContain('settle-child.ts');
  expect(about(pid, 'environ')).toContain('LANCE_CPU_THREADS=');
  for (const what of ['cmdline', 'environ'] as const) {
    expect(about(pid, what)).not.toMatch(/canary|DATABASE_URL|SECRET/);
  }
  process.kill(pid, 'SIGKILL');
  await expect(settled).rejects.toThrow('SIGKILL');
});
