import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import type {
  Candidate,
  ChunkTokens,
  FirstChunks,
  IndexedChunk,
  IndexedGeneration,
  StoredChunk,
  StoredChunks,
} from '../chunk-index.ts';
import { quoteId } from '../quote-id.ts';
import { SAMPLED_ROWS_MAX, type TableSample } from '../row-samples.ts';
import { VERSION_KEY } from './collections.ts';
import { decodeTerms, hashesOf } from './encode-terms.ts';
import type { MilvusConnection } from './milvus-connection.ts';

/** Maximum number of rows in a Milvus reply. */
const REPLY_ROWS_MAX = 16_384;
/** Rows per page: with small columns, and with vectors. */
const PAGE_ROWS = 10_000;
const VECTOR_PAGE_ROWS = 500;
/** Number of possible row hashes. */
const HASHES = 2 ** 32;

type Row = Record<string, unknown>;

/** Condition for rows of chunks, which excludes the collection's version row. */
const IS_CHUNK = 'generation > 0';
/** Output column that counts rows. */
const COUNT = 'count(*)';

export function isOfDocuments(documentIds: readonly string[]): string {
  return `document_id in [${documentIds.map(quoteId).join(', ')}]`;
}

export function isOfGenerations(generations: readonly number[]): string {
  return `generation in [${generations.map(Number).join(', ')}]`;
}

/** Read the version of a collection, or 0 if nothing was written to it. */
export async function readVersion(connection: MilvusConnection, name: string): Promise<number> {
  const [row] = await query(connection, name, `chunk_id == ${quoteId(VERSION_KEY)}`, ['chunk_index'], 1);
  return row === undefined ? 0 : Number(row['chunk_index']);
}

/** Count the chunks of a collection. */
export async function countRows(connection: MilvusConnection, name: string): Promise<number> {
  const [row] = await query(connection, name, IS_CHUNK, [COUNT]);
  return Number(row?.[COUNT]);
}

/** Count the chunks per generation. */
export async function countByGeneration(connection: MilvusConnection, name: string): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  for await (const page of readPages(connection, name, { where: IS_CHUNK, columns: ['generation'] })) {
    for (const row of page) {
      const id = Number(row['generation']);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
  }
  return counts;
}

/** Read the first chunks of documents. The result may include chunks of older generations. */
export async function readChunks(
  connection: MilvusConnection,
  name: string,
  { documentIds, perDocument, limit }: FirstChunks,
): Promise<StoredChunks> {
  const where = `chunk_index < ${Number(perDocument)} and ${isOfDocuments(documentIds)}`;
  const columns = ['document_id', 'generation', 'chunk_index', 'text', 'vector'];
  const chunks: StoredChunk[] = [];
  const vectors: number[][] = [];
  for await (const page of readPages(connection, name, { where, columns, pageRows: VECTOR_PAGE_ROWS })) {
    for (const row of page.slice(0, limit - chunks.length)) {
      chunks.push({ ...keysOf(row), text: joined(row['text']) });
      vectors.push(row['vector'] as number[]);
    }
    if (chunks.length >= limit) break;
  }
  return { chunks, vectors: Float32Array.from(vectors.flat()) };
}

/** Read the terms of the chunks of generations. */
export async function* readTokens(
  connection: MilvusConnection,
  name: string,
  generations: readonly number[],
): AsyncIterable<ChunkTokens> {
  const columns = ['generation', 'chunk_index', 'tokens'];
  const where = isOfGenerations(generations);
  for await (const page of readPages(connection, name, { where, columns, pageRows: VECTOR_PAGE_ROWS })) {
    for (const row of page) {
      yield {
        generation: Number(row['generation']),
        chunkIndex: Number(row['chunk_index']),
        tokens: decodeTerms(String(row['tokens'])),
      };
    }
  }
}

/** Read texts and locators of chunks by id. The result lacks removed chunks. */
export async function readPassages(
  connection: MilvusConnection,
  name: string,
  chunkIds: readonly string[],
): Promise<Map<string, { readonly text: string; readonly locator: string }>> {
  const rows = await query(connection, name, isOneOf(chunkIds), ['chunk_id', 'text', 'locator'], chunkIds.length);
  return new Map(
    rows.map((row) => [row['chunk_id'] as string, { text: joined(row['text']), locator: joined(row['locator']) }]),
  );
}

/** Compute the cosine similarity of chunks by their ids. `vector`: Float32Array [1024], L2-normalised. */
export async function readCosines(
  connection: MilvusConnection,
  name: string,
  vector: Float32Array,
  chunkIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await query(connection, name, isOneOf(chunkIds), ['chunk_id', 'vector'], chunkIds.length);
  return new Map(
    rows.map((row) => {
      const own = row['vector'] as number[];
      return [row['chunk_id'] as string, vector.reduce((sum, component, at) => sum + component * (own[at] ?? 0), 0)];
    }),
  );
}

/** Sample the rows of a collection whose ids have the lowest hashes. Equal chunks give an equal sample. */
export async function sampleRows(connection: MilvusConnection, name: string): Promise<TableSample> {
  const tableRows = await countRows(connection, name);
  // Request twice as many as needed, since hashes aren't perfectly uniform.
  const below = Math.ceil((HASHES * 2 * SAMPLED_ROWS_MAX) / Math.max(1, tableRows));
  const columns = ['chunk_id', 'document_id', 'hash', 'tokens', 'vector'];
  const rows = await query(connection, name, `${IS_CHUNK} and hash < ${below}`, columns, 4 * SAMPLED_ROWS_MAX);
  const sampled = rows
    .sort((a, b) => Number(a['hash']) - Number(b['hash']) || (String(a['chunk_id']) < String(b['chunk_id']) ? -1 : 1))
    .slice(0, SAMPLED_ROWS_MAX)
    .map((row) => ({
      documentId: row['document_id'] as string,
      vector: Float32Array.from(row['vector'] as number[]),
      terms: hashesOf(String(row['tokens'])),
    }));
  return { rows: sampled, tableRows };
}

/** Read complete rows of generations. */
export async function* readGenerations(
  connection: MilvusConnection,
  name: string,
  generations: readonly number[],
): AsyncIterable<IndexedGeneration> {
  const facts = ['document_id', 'generation', 'chunk_index', 'collection_id', 'privacy_level', 'event_time'];
  const columns = [...facts, 'text', 'locator', 'tokens', 'vector'];
  const where = isOfGenerations(generations);
  for await (const page of readPages(connection, name, { where, columns, pageRows: VECTOR_PAGE_ROWS })) {
    const vectors = new Float32Array(page.length * INDEX_DIMENSIONS);
    const chunks = page.map((row, at): IndexedChunk => {
      vectors.set(row['vector'] as number[], at * INDEX_DIMENSIONS);
      return {
        ...keysOf(row),
        collectionId: (row['collection_id'] as string | null | undefined) ?? null,
        text: joined(row['text']),
        tokens: decodeTerms(String(row['tokens'])),
        locator: JSON.parse(joined(row['locator'])),
        modality: 'text',
        privacyLevel: Number(row['privacy_level']),
        eventTimeMs: row['event_time'] === null ? null : Number(row['event_time']),
      };
    });
    yield { chunks, vectors };
  }
}

/** Extract the keys of a chunk from its row. */
export function keysOf(row: Row): Pick<Candidate, 'chunkId' | 'documentId' | 'generation' | 'chunkIndex'> {
  return {
    chunkId: row['chunk_id'] as string,
    documentId: row['document_id'] as string,
    generation: Number(row['generation']),
    chunkIndex: Number(row['chunk_index']),
  };
}

/** Read all rows that match a condition, in pages. Milvus returns rows in key order. */
async function* readPages(
  connection: MilvusConnection,
  name: string,
  {
    where,
    columns,
    pageRows = PAGE_ROWS,
  }: { readonly where: string; readonly columns: readonly string[]; readonly pageRows?: number },
): AsyncIterable<Row[]> {
  for (let after: string | null = null; ; ) {
    const behind: string = after === null ? where : `(${where}) and chunk_id > ${quoteId(after)}`;
    const page = await query(connection, name, behind, ['chunk_id', ...columns], pageRows);
    page.sort((a, b) => (String(a['chunk_id']) < String(b['chunk_id']) ? -1 : 1));
    if (page.length > 0) yield page;
    if (page.length < pageRows) return;
    after = String(page.at(-1)?.['chunk_id']);
  }
}

/** @param limit undefined to count rows */
async function query(
  connection: MilvusConnection,
  name: string,
  filter: string,
  columns: readonly string[],
  limit?: number,
): Promise<Row[]> {
  const request = { collection_name: name, filter, output_fields: [...columns] };
  const bound = limit === undefined ? {} : { limit: Math.max(1, Math.min(limit, REPLY_ROWS_MAX)) };
  const { data } = await connection.callLoaded(name, (client) => client.query({ ...request, ...bound }));
  return data;
}

function isOneOf(chunkIds: readonly string[]): string {
  return `chunk_id in [${chunkIds.map(quoteId).join(', ')}]`;
}

/** Join the pieces of a text. */
function joined(pieces: unknown): string {
  return (pieces as string[]).join('');
}
