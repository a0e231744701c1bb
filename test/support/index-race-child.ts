import { once } from 'node:events';
import type { IndexedGeneration } from '../../src/index/chunk-index.ts';
import { getIndexTable } from '../../src/index/index-store.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { LanceIndex } from '../../src/index/lance/lance-index.ts';
import { IndexWriter } from '../../src/index/writing/index-writer.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openPostgres, type Sql } from '../../src/platform/postgres.ts';
import { INDEX_DIMENSIONS } from '../../src/projection/resize.ts';
import { chunkId, RACE_BUCKET, type RaceMessage, type RaceTask, readChunks } from './index-race.ts';
import { originIn } from './origins.ts';
import { createRandom } from './random.ts';

// Process of `runIndexRace`: `index-race-child.ts <task as JSON>`. It sends `ready`, and starts when it receives `go`.
const CHUNKS_MAX = 6;
/** Concurrent operations of one writer, so that a commit combines several, as in ingest. */
const CONCURRENCY_MAX = 4;
const FAULTS_MAX = 20;

const task = JSON.parse(process.argv[2] ?? '') as RaceTask;
const sql = openPostgres({ url: task.databaseUrl }, { poolMax: 6, applicationName: `race/${task.role}` });
const tables = new LanceTables(...task.place);
const send = (message: RaceMessage) => new Promise((resolve) => process.send?.(message, resolve));

await send({ kind: 'ready' });
await once(process, 'message');
await (task.role === 'writer' ? write() : read());
await tables.close();
await sql.end();
process.disconnect();

async function write(): Promise<void> {
  const writer = new IndexWriter({ sql, direct: sql, chunks: new LanceIndex(tables), logger: openLogger('warn') });
  const random = createRandom(task.seed * 10 + task.number);
  const signal = new AbortController().signal;
  /** Generations that are written and not being dropped, with their documents. */
  const mine = new Map<number, string>();
  let serial = 0;

  const append = async () => {
    const id = ++serial * 10 + task.number;
    const document = `doc_${task.number}_${random.int(task.operations)}`;
    const chunks = 1 + random.int(CHUNKS_MAX);
    await register(sql, { id, document, chunks });
    await writer.append(RACE_BUCKET, generation({ id, document, chunks }), originIn('space-1'));
    await setState(sql, [id], 'written');
    mine.set(id, document);
  };
  const drop = async (ids: number[], run: () => Promise<void>) => {
    for (const id of ids) mine.delete(id);
    await setState(sql, ids, 'dropping');
    // A deletion deletes the records of generations before it drops their rows.
    await sql`DELETE FROM generations WHERE id = ANY(${sql.array(ids)}::bigint[])`;
    await run();
    await setState(sql, ids, 'dropped');
  };
  const operate = async () => {
    const chance = random.real();
    const [id, document] = [...mine][random.int(mine.size)] ?? [];
    if (chance < 0.65 || id === undefined || document === undefined) return append();
    if (chance < 0.85) return drop([id], () => writer.dropGenerations(RACE_BUCKET, [id], signal));
    const all = [...mine].flatMap(([each, of]) => (of === document ? [each] : []));
    return drop(all, () => writer.dropGenerations(RACE_BUCKET, all, signal));
  };

  let left = task.operations;
  await Promise.all(
    Array.from({ length: CONCURRENCY_MAX }, async () => {
      while (left-- > 0) await operate();
    }),
  );
  await writer.close();
  await send({ kind: 'done' });
}

/** Read until told to stop. A generation that exists before and after a read must be in it completely, exactly once. */
async function read(): Promise<void> {
  const faults: string[] = [];
  let reads = 0;
  let isOver = false;
  process.once('message', () => {
    isOver = true;
  });
  while (!isOver || reads === 0) {
    const before = await ledger();
    const own = await getIndexTable(sql, RACE_BUCKET);
    const table = own && (await tables.openForReading(own.name, own.version));
    if (!table) continue;
    const rows = await readChunks(table);
    const after = await ledger();
    reads++;
    if (new Set(rows.map(({ id }) => id)).size !== rows.length) faults.push('rows are doubled');
    const counts = new Map<number, number>();
    for (const row of rows) counts.set(row.generation, (counts.get(row.generation) ?? 0) + 1);
    for (const [id, { chunks, state }] of after) {
      const count = counts.get(id) ?? 0;
      if (count !== 0 && count !== chunks) faults.push(`${count} of the ${chunks} rows of generation ${id}`);
      const wasBefore = before.get(id)?.state;
      if (wasBefore === 'written' && state === 'written' && count === 0) faults.push(`generation ${id} is lost`);
      if (wasBefore === 'dropped' && count > 0) faults.push(`generation ${id} is back`);
    }
    for (const id of counts.keys()) if (!after.has(id)) faults.push(`generation ${id} was never written`);
    if (faults.length > FAULTS_MAX) break;
  }
  await send({ kind: 'reads', reads, faults });
}

async function ledger(): Promise<Map<number, { chunks: number; state: string }>> {
  const rows = await sql`SELECT generation, chunks, state FROM race_ledger`;
  return new Map(rows.map((row) => [Number(row['generation']), { chunks: row['chunks'], state: row['state'] }]));
}

async function register(sql: Sql, { id, document, chunks }: { id: number; document: string; chunks: number }) {
  await sql`
    INSERT INTO generations (id, org_id, bucket_id, document_id, job_id, artifact_key, chunks_count, embed_model, space)
    VALUES (${id}, 'org_race', ${RACE_BUCKET}, ${document}, 'job_race', 'k', ${chunks}, 'm', 'space-1')`;
  await sql`INSERT INTO race_ledger VALUES (${id}, ${document}, ${chunks}, 'writing')`;
}

async function setState(sql: Sql, ids: number[], state: string): Promise<void> {
  await sql`UPDATE race_ledger SET state = ${state} WHERE generation = ANY(${sql.array(ids)}::bigint[])`;
}

function generation({ id, document, chunks }: { id: number; document: string; chunks: number }): IndexedGeneration {
  const vectors = new Float32Array(chunks * INDEX_DIMENSIONS);
  for (let row = 0; row < chunks; row++) vectors[row * INDEX_DIMENSIONS + (id % INDEX_DIMENSIONS)] = 1;
  return {
    vectors,
    chunks: Array.from({ length: chunks }, (_, n) => ({
      ...{ chunkId: chunkId(document, id, n), documentId: document, generation: id, collectionId: null },
      ...{ chunkIndex: n, text: `heron ${id} ${n}`, tokens: `heron ${id} ${n}` },
      locator: { page: null, heading_path: [], start: 0, end: 8 },
      ...{ modality: 'text' as const, privacyLevel: 1, eventTimeMs: null },
    })),
  };
}
