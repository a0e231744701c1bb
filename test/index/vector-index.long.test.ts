import path from 'node:path';
import type { Table } from '@lancedb/lancedb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { embedLexical, embedLexicalPassages } from '../../src/embedding/providers/local.ts';
import { toArrowTable } from '../../src/index/lance/chunk-table.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { searchVectors, vectorQuery } from '../../src/index/lance/legs.ts';
import { settle } from '../../src/index/lance/settle.ts';
import { dropVectorIndex, VECTOR_INDEX_NAME } from '../../src/index/lance/vector-index.ts';
import { makeDataDir } from '../support/appliance.ts';
import { drawQueries, readPassages } from '../support/real-passages.ts';

const ROWS = 20_000;
const CHUNKS_PER_DOCUMENT = 5;
const LIMIT = 60;
const passages = readPassages(ROWS + CHUNKS_PER_DOCUMENT);
const queries = drawQueries(passages, 40).map((query) => embedLexical([query]));

let directory: { dataDir: string; remove: () => void };
let tables: LanceTables;
let table: Table;

async function add(from: number, to: number): Promise<void> {
  const texts = passages.slice(from, to);
  const chunks = texts.map((text, nth) => {
    const number = Math.floor((from + nth) / CHUNKS_PER_DOCUMENT);
    return {
      ...{ chunkId: `chunk_${from + nth}`, documentId: `doc_${number}`, generation: number, collectionId: null },
      ...{ chunkIndex: (from + nth) % CHUNKS_PER_DOCUMENT, text, tokens: 'heron' },
      locator: { page: null, heading_path: [], start: 0, end: text.length },
      ...{ modality: 'text' as const, privacyLevel: 1, eventTimeMs: null },
    };
  });
  await table.add(toArrowTable([{ vectors: embedLexicalPassages(texts), chunks }]) as never);
}

beforeAll(async () => {
  directory = makeDataDir();
  tables = new LanceTables(path.join(directory.dataDir, 'index'));
  table = await tables.openForWriting('bkt_large');
  await add(0, ROWS);
}, 60_000);
afterAll(async () => {
  await tables.close();
  directory.remove();
});

const namesOf = async () => (await table.listIndices()).map((index) => index.name);
const planOf = (vector: Float32Array) => vectorQuery(table, vector, { limit: LIMIT, documentIds: null }).explainPlan();

it('a table of many rows gets an index of its vectors when it is settled', async () => {
  expect(await namesOf()).not.toContain(VECTOR_INDEX_NAME);
  const exact = await Promise.all(queries.map(exactly));
  await settle(tables, table);
  expect(await namesOf()).toContain(VECTOR_INDEX_NAME);
  expect(await planOf(queries[0] as Float32Array)).toContain('ANN');
  // Compared by score, since several may be equally near.
  let found = 0;
  for (const [nth, query] of queries.entries()) {
    const nearest = exact[nth] as number[];
    const scores = (await searchVectors(table, query, { limit: LIMIT, documentIds: null })).map((each) => each.score);
    found += scores.slice(0, 10).filter((score) => score >= (nearest[9] as number) - 1e-5).length;
  }
  expect(found / (10 * queries.length)).toBeGreaterThanOrEqual(0.98);
}, 60_000);

async function exactly(vector: Float32Array): Promise<number[]> {
  const rows = await vectorQuery(table, vector, { limit: LIMIT, documentIds: null }).bypassVectorIndex().toArrow();
  const distances: number[] = Array.from(rows.getChild('_distance') ?? []);
  return distances.map((distance) => 1 - distance).sort((a, b) => b - a);
}

it('a search finds every chunk that a narrow filter leaves, however far it is', async () => {
  const documentIds = ['doc_3', 'doc_1999', `doc_${ROWS / CHUNKS_PER_DOCUMENT - 1}`];
  for (const query of queries.slice(0, 5)) {
    const found = await searchVectors(table, query, { limit: LIMIT, documentIds });
    expect(found).toHaveLength(documentIds.length * CHUNKS_PER_DOCUMENT);
    expect(new Set(found.map((each) => each.documentId))).toEqual(new Set(documentIds));
  }
});

it('a search finds rows that are not in the vector index yet, and no deleted rows', async () => {
  const query = embedLexical([passages[ROWS] as string]);
  await add(ROWS, ROWS + CHUNKS_PER_DOCUMENT);
  const best = async () => (await searchVectors(table, query, { limit: LIMIT, documentIds: null }))[0]?.chunkId;
  expect((await table.indexStats(VECTOR_INDEX_NAME))?.numUnindexedRows).toBe(CHUNKS_PER_DOCUMENT);
  expect(await best()).toBe(`chunk_${ROWS}`);
  await settle(tables, table);
  expect((await table.indexStats(VECTOR_INDEX_NAME))?.numUnindexedRows).toBe(0);
  expect(await best()).toBe(`chunk_${ROWS}`);
  await table.delete(`chunk_id = 'chunk_${ROWS}'`);
  expect(await best()).not.toBe(`chunk_${ROWS}`);
});

it('settling rebuilds a vector index that was dropped', async () => {
  await dropVectorIndex(table);
  await dropVectorIndex(table);
  expect(await namesOf()).not.toContain(VECTOR_INDEX_NAME);
  await settle(tables, table);
  expect(await namesOf()).toContain(VECTOR_INDEX_NAME);
}, 60_000);
