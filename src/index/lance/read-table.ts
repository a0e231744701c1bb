import type { Table } from '@lancedb/lancedb';
import { mapYielding } from '../../platform/map-yielding.ts';
import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import type {
  Candidate,
  ChunkTokens,
  FirstChunks,
  IndexedChunk,
  IndexedGeneration,
  StoredChunks,
} from '../chunk-index.ts';
import { quoteId } from '../quote-id.ts';
import { membership } from './legs.ts';

const CHUNK_COLUMNS = ['chunk_id', 'document_id', 'generation', 'chunk_index', 'text', 'vector'] as const;
/** Number of rows converted before yielding to the event loop, less than 2 ms. */
const ROWS_AT_ONCE = 50;

/** Read the first chunks of documents. The result may include chunks of older generations. */
export async function readChunks(
  table: Table,
  { documentIds, perDocument, limit }: FirstChunks,
): Promise<StoredChunks> {
  const rows = await table
    .query()
    .where(`chunk_index < ${perDocument} AND ${membership(documentIds)}`)
    .select([...CHUNK_COLUMNS])
    .limit(limit)
    .toArrow();
  const columns = new Map(CHUNK_COLUMNS.map((name) => [name, rows.getChild(name)]));
  const value = (name: (typeof CHUNK_COLUMNS)[number], row: number): unknown => columns.get(name)?.get(row);
  const numbers = Array.from({ length: rows.numRows }, (_, row) => row);
  const vectors = new Float32Array(rows.numRows * INDEX_DIMENSIONS);
  const chunks = await mapYielding(numbers, ROWS_AT_ONCE, (row) => {
    vectors.set((value('vector', row) as { toArray(): ArrayLike<number> }).toArray(), row * INDEX_DIMENSIONS);
    return {
      chunkId: String(value('chunk_id', row)),
      documentId: String(value('document_id', row)),
      generation: Number(value('generation', row)),
      chunkIndex: Number(value('chunk_index', row)),
      text: String(value('text', row)),
    };
  });
  return { chunks, vectors };
}

/**
 * Compute the cosine similarity of chunks, in their order. `vector`: Float32Array [1024], L2-normalised like all
 * vectors of the index.
 */
export async function readCosines(
  table: Table,
  vector: Float32Array,
  chunks: readonly Pick<Candidate, 'chunkId' | 'documentId'>[],
): Promise<number[]> {
  const chunkIds = chunks.map(({ chunkId }) => quoteId(chunkId));
  const documentIds = [...new Set(chunks.map(({ documentId }) => documentId))];
  const rows = await table
    .query()
    .where(`${membership(documentIds)} AND chunk_id IN (${chunkIds.join(', ')})`)
    .select(['chunk_id', 'vector'])
    .toArrow();
  const cosines = new Map<string, number>();
  for (let row = 0; row < rows.numRows; row++) {
    const value = (column: string) => rows.getChild(column)?.get(row);
    const own = (value('vector') as { toArray(): ArrayLike<number> }).toArray();
    const cosine = vector.reduce((sum, component, at) => sum + component * (own[at] as number), 0);
    cosines.set(value('chunk_id') as string, cosine);
  }
  return chunks.map(({ chunkId }) => cosines.get(chunkId) as number);
}

/** Read the terms of the chunks of generations. */
export async function* readTokens(table: Table, generations: readonly number[]): AsyncIterable<ChunkTokens> {
  const isWanted = `generation IN (${generations.map(Number).join(', ')})`;
  for await (const batch of table.query().where(isWanted).select(['generation', 'chunk_index', 'tokens'])) {
    const [ids, indexes, tokens] = ['generation', 'chunk_index', 'tokens'].map((name) => batch.getChild(name));
    for (let row = 0; row < batch.numRows; row++) {
      yield {
        generation: Number(ids?.get(row)),
        chunkIndex: Number(indexes?.get(row)),
        tokens: String(tokens?.get(row)),
      };
    }
  }
}

/** Read complete rows of generations. */
export async function* readGenerations(table: Table, generations: readonly number[]): AsyncIterable<IndexedGeneration> {
  const isWanted = `generation IN (${generations.map(Number).join(', ')})`;
  for await (const batch of table.query().where(isWanted)) {
    const value = (column: string, row: number): unknown => batch.getChild(column)?.get(row);
    const vectors = new Float32Array(batch.numRows * INDEX_DIMENSIONS);
    const chunks = Array.from({ length: batch.numRows }, (_, row): IndexedChunk => {
      const eventTime = value('event_time', row);
      vectors.set((value('vector', row) as { toArray(): Float32Array }).toArray(), row * INDEX_DIMENSIONS);
      return {
        chunkId: String(value('chunk_id', row)),
        documentId: String(value('document_id', row)),
        generation: Number(value('generation', row)),
        collectionId: value('collection_id', row) as string | null,
        chunkIndex: Number(value('chunk_index', row)),
        text: String(value('text', row)),
        tokens: String(value('tokens', row)),
        locator: JSON.parse(String(value('locator', row))),
        modality: 'text',
        privacyLevel: Number(value('privacy_level', row)),
        eventTimeMs: eventTime === null ? null : Number(eventTime),
      };
    });
    yield { chunks, vectors };
  }
}

/** Count the rows per generation. */
export async function countByGeneration(table: Table): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  for await (const batch of table.query().select(['generation'])) {
    const generations: BigInt64Array = batch.getChild('generation')?.toArray() ?? new BigInt64Array();
    for (const generation of generations) {
      const id = Number(generation);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
  }
  return counts;
}
