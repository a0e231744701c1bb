import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { IndexedGeneration } from '../../src/index/chunk-index.ts';
import { getIndexTable } from '../../src/index/index-store.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { LanceIndex } from '../../src/index/lance/lance-index.ts';
import { searchKeywords, searchVectors } from '../../src/index/lance/legs.ts';
import { IndexWriter } from '../../src/index/writing/index-writer.ts';
import { analyse, weighTerms } from '../../src/language/analyser.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { INDEX_DIMENSIONS } from '../../src/projection/resize.ts';
import { makeDataDir } from '../support/appliance.ts';
import { registerGeneration } from '../support/generations.ts';
import { originIn } from '../support/origins.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';

const BUCKET = 'bkt_writer';
let db: TestDatabase;
let directory: { dataDir: string; remove: () => void };
let tables: LanceTables;
let writer: IndexWriter;

function open(): void {
  tables = new LanceTables(path.join(directory.dataDir, 'index'));
  writer = new IndexWriter({
    sql: db.sql,
    direct: db.sql,
    chunks: new LanceIndex(tables),
    logger: openLogger('silent'),
  });
}

beforeEach(async () => {
  db = await createTestDatabase();
  directory = makeDataDir();
  open();
});
afterEach(async () => {
  await writer.close();
  await tables.close();
  await db.drop();
  directory.remove();
});

function generation(id: number, texts: string[]): IndexedGeneration {
  const vectors = new Float32Array(texts.length * INDEX_DIMENSIONS);
  for (let row = 0; row < texts.length; row++) vectors[row * INDEX_DIMENSIONS + (id % INDEX_DIMENSIONS)] = 1;
  return {
    vectors,
    chunks: texts.map((text, index) => ({
      chunkId: `doc_${id}_${id}_${index}`,
      documentId: `doc_${id}`,
      generation: id,
      collectionId: null,
      chunkIndex: index,
      text,
      tokens: analyse(text).join(' '),
      locator: { page: null, heading_path: [], start: 0, end: text.length },
      modality: 'text',
      privacyLevel: 1,
      eventTimeMs: null,
    })),
  };
}

async function find(query: string, reader = tables): Promise<string[]> {
  const version = (await getIndexTable(db.sql, BUCKET))?.version ?? 0;
  const table = await reader.openForReading(BUCKET, version);
  if (!table) return [];
  const options = { limit: 100, documentIds: null };
  return (await searchKeywords(table, weighTerms(analyse(query)), options)).map((found) => found.documentId);
}

/** Register a generation and append it, as ingest does. */
async function append(to: IndexWriter, one: IndexedGeneration, space = 'lexical-1'): Promise<void> {
  const id = one.chunks[0]?.generation as number;
  await registerGeneration(db.sql, { id, orgId: 'org_x', bucketId: BUCKET, chunks: one.chunks.length, space });
  await to.append(BUCKET, one, originIn(space));
}

const signal = new AbortController().signal;

it('a search ranks a rare word first at any moment while documents are appended one by one', async () => {
  for (let id = 1; id <= 40; id++) {
    const rare = id === 7 || id === 31 ? ' A kingfisher nests here.' : '';
    await append(writer, generation(id, [`Common river bank number ${id}.${rare}`]));
    const [best] = await find('kingfisher on the common river bank');
    if (id >= 7) expect(best).toMatch(id >= 31 ? /^doc_(7|31)$/ : /^doc_7$/);
  }
});

it('concurrent appends share commits, and none is lost', async () => {
  await Promise.all(Array.from({ length: 200 }, (_, id) => append(writer, generation(id, [`word${id} shared`]))));
  const version = (await getIndexTable(db.sql, BUCKET))?.version as number;
  expect(version).toBeLessThan(40);
  expect(await find('word150')).toEqual(['doc_150']);
  expect(new Set(await find('shared')).size).toBe(100);
});

it('another process sees a commit once PostgreSQL names its version', async () => {
  const other = new LanceTables(path.join(directory.dataDir, 'index'));
  await append(writer, generation(1, ['first heron']));
  expect(await find('heron', other)).toEqual(['doc_1']);
  await append(writer, generation(2, ['second heron']));
  expect((await find('heron', other)).toSorted()).toEqual(['doc_1', 'doc_2']);
  await other.close();
});

it('two writers of one bucket lose no row', async () => {
  const otherTables = new LanceTables(path.join(directory.dataDir, 'index'));
  const other = new IndexWriter({
    sql: db.sql,
    direct: db.sql,
    chunks: new LanceIndex(otherTables),
    logger: openLogger('silent'),
  });
  const appends = Array.from({ length: 40 }, (_, id) =>
    append(id % 2 === 0 ? writer : other, generation(id, [`heron ${id}`])),
  );
  await Promise.all(appends);
  expect(new Set(await find('heron')).size).toBe(40);
  await other.close();
  await otherTables.close();
});

it('the writer removes documents and generations', async () => {
  for (const id of [1, 2, 3]) await append(writer, generation(id, [`heron ${id}`]));
  await writer.dropDocuments(BUCKET, ['doc_1'], signal);
  await writer.dropGenerations(BUCKET, [2], signal);
  expect(await find('heron')).toEqual(['doc_3']);
  await writer.dropBucket(BUCKET, signal);
  await writer.dropDocuments('bkt_never', ['doc_1'], signal);
});

it('the writer refuses a generation that a deletion has forgotten before dropping its rows', async () => {
  await append(writer, generation(1, ['heron']));
  await db.sql`DELETE FROM generations`;
  await expect(writer.append(BUCKET, generation(1, ['heron again']), originIn('lexical-1'))).rejects.toMatchObject({
    code: 'generation_gone',
  });
});

it('a dropped generation stays gone, whatever is appended to it meanwhile', async () => {
  const outcomes = new Set<string>();
  for (let id = 1; id <= 10; id++) {
    await append(writer, generation(id, ['heron']));
    const late = [0, 1, 2].map(() =>
      writer.append(BUCKET, generation(id, ['late heron']), originIn('lexical-1')).then(
        () => 'before',
        (error) => error.code,
      ),
    );
    await writer.dropGenerations(BUCKET, [id], signal);
    late.push(
      writer.append(BUCKET, generation(id, ['later heron']), originIn('lexical-1')).then(
        () => 'after',
        (error) => error.code,
      ),
    );
    for (const outcome of await Promise.all(late)) outcomes.add(outcome);
  }
  expect(await find('heron')).toEqual([]);
  expect([...outcomes]).toEqual(expect.arrayContaining(['generation_gone']));
  expect([...outcomes]).not.toContain('after');
});

it('a writer that lost the lock removes its commit again if the generation was swept', async () => {
  /** Tables of a process that is stopped right before its commit: it loses its lock, and its generation is swept. */
  class StoppedTables extends LanceTables {
    isStopped = false;
    override async mapErrors<T>(work: Promise<T>): Promise<T> {
      const outcome = await super.mapErrors(work);
      const isCommit = typeof (outcome as { version?: unknown } | undefined)?.version === 'number';
      if (this.isStopped && isCommit) {
        this.isStopped = false;
        await db.sql`
          SELECT pg_terminate_backend(pid, 5000) FROM pg_locks
          WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
        await db.sql`DELETE FROM generations WHERE id = 2`;
      }
      return outcome;
    }
  }
  const stopped = new StoppedTables(path.join(directory.dataDir, 'index'));
  const other = new IndexWriter({
    sql: db.sql,
    direct: db.sql,
    chunks: new LanceIndex(stopped),
    logger: openLogger('silent'),
  });
  await append(other, generation(1, ['heron']));
  stopped.isStopped = true;
  await expect(append(other, generation(2, ['heron']))).rejects.toMatchObject({ code: 'generation_gone' });
  expect(stopped.isStopped).toBe(false);
  expect(await find('heron')).toEqual(['doc_1']);
  await other.close();
  await stopped.close();
});

it('settling removes deleted text from the disk', async () => {
  await append(writer, generation(1, ['xyzzyplugh']));
  await append(writer, generation(2, ['heron']));
  await writer.dropDocuments(BUCKET, ['doc_1'], signal);
  await db.sql`UPDATE index_tables SET updated_at = now() - interval '1 hour'`;
  await writer.settleAbandoned(signal);
  const table = await tables.openForWriting(BUCKET);
  await table.optimize({ cleanupOlderThan: new Date() });
  const files = readdirSync(directory.dataDir, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const left = files.filter((entry) => readFileSync(path.join(entry.parentPath, entry.name)).includes('xyzzyplugh'));
  expect(left.map((entry) => entry.name)).toEqual([]);
  expect(await find('heron')).toEqual(['doc_2']);
});

/** Insert a document that searches find, as a finished ingest job does. */
async function makeLive(id: number): Promise<void> {
  await db.sql`
    INSERT INTO organizations (id, name, plan) VALUES ('org_x', 'x', 'free') ON CONFLICT DO NOTHING`;
  await db.sql`
    INSERT INTO buckets (id, org_id, name, policy) VALUES (${BUCKET}, 'org_x', 'b', '{}') ON CONFLICT DO NOTHING`;
  await db.sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status,
                           active_generation)
    VALUES (${`doc_${id}`}, 'org_x', ${BUCKET}, 'f', 1, '', 'k', '{}', 'ready', ${id})`;
}

it.each([
  ['native:my/a@1', 'canon-v1', ['projections fit --model my/a', `index reproject --bucket ${BUCKET} --model my/a`]],
  ['native:my/a@1@b', 'native:my/c@1', ['projections fit --model my/a', 'projections fit --model my/c']],
  ['canon-v1', 'native:my/b@2', ['projections fit --model my/b']],
  ['lexical-1', 'canon-v1', ['new bucket']],
  ['canon-v1', 'lexical-1', ['routing set']],
])(
  'an index with vectors of %s refuses those of %s, and the error names the command to run',
  async (held, given, commands) => {
    await append(writer, generation(1, ['heron']), held);
    await makeLive(1);
    const refused = await append(writer, generation(2, ['heron']), given).catch((error) => error);
    expect(refused).toMatchObject({ code: 'not_comparable', status: 409 });
    for (const command of commands) expect(refused.message).toContain(command);
    await expect(writer.checkSpace(BUCKET, given)).rejects.toMatchObject({ code: 'not_comparable' });
    await writer.checkSpace(BUCKET, held);
    expect(await find('heron')).toEqual(['doc_1']);
  },
);

it('an index accepts vectors of another space once no search finds those of the old one', async () => {
  await append(writer, generation(1, ['heron']), 'lexical-1');
  await writer.checkSpace(BUCKET, 'canon-v1');
  await append(writer, generation(2, ['heron']), 'canon-v1');
  expect((await getIndexTable(db.sql, BUCKET))?.origin?.space).toBe('canon-v1');
  await makeLive(2);
  await expect(append(writer, generation(3, ['heron']), 'lexical-1')).rejects.toMatchObject({ code: 'not_comparable' });
});

it('a closed writer leaves its index unsettled, and another settles it', async () => {
  // A table of few rows would be settled after every commit.
  await append(writer, generation(1, Array(400).fill('heron')));
  for (let id = 2; id <= 5; id++) await append(writer, generation(id, [`heron ${id}`]));
  await writer.close();
  const settled = async () =>
    (await db.sql`SELECT settled FROM index_tables WHERE bucket_id = ${BUCKET}`)[0]?.['settled'];
  expect(await settled()).toBe(false);
  await tables.close();
  open();
  for (let id = 6; id <= 9; id++) await append(writer, generation(id, [`heron ${id}`]));
  await db.sql`UPDATE index_tables SET settled = false, updated_at = now() - interval '1 minute'`;
  await writer.settleAbandoned(signal);
  expect(await settled()).toBe(true);
});

it('a writer settles its index when writing pauses', async () => {
  for (let id = 1; id <= 4; id++) await append(writer, generation(id, [`heron ${id}`]));
  await until(
    async () => (await db.sql`SELECT settled FROM index_tables WHERE bucket_id = ${BUCKET}`)[0]?.['settled'] === true,
  );
});

it('a search ranks vectors by cosine similarity', async () => {
  for (const id of [1, 2]) await append(writer, generation(id, ['heron']));
  const table = await tables.openForReading(BUCKET, (await getIndexTable(db.sql, BUCKET))?.version as number);
  const query = new Float32Array(INDEX_DIMENSIONS);
  query[2] = 1;
  const found = await searchVectors(table as NonNullable<typeof table>, query, { limit: 2, documentIds: null });
  expect(found.map((candidate) => [candidate.documentId, Math.round(candidate.score)])).toEqual([
    ['doc_2', 1],
    ['doc_1', 0],
  ]);
});
