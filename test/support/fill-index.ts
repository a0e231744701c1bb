import { embedLexicalPassages } from '../../src/embedding/providers/local.ts';
import type { IndexedGeneration } from '../../src/index/chunk-index.ts';
import { toArrowTable } from '../../src/index/lance/chunk-table.ts';
import type { LanceTables } from '../../src/index/lance/lance.ts';
import { LanceIndex } from '../../src/index/lance/lance-index.ts';
import { settle } from '../../src/index/lance/settle.ts';
import { readTableState } from '../../src/index/lance/table-state.ts';
import { publishVersion } from '../../src/index/writing/index-versions-store.ts';
import { IndexWriter } from '../../src/index/writing/index-writer.ts';
import { analyse } from '../../src/language/analyser.ts';
import { openLogger } from '../../src/platform/logger.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { LEXICAL_SPACE } from '../../src/projection/projections.ts';
import { originIn } from './origins.ts';

const CONCURRENT_APPENDS = 800;
/** Documents per commit written directly to the table: 10,000 rows of five chunks, 40 MB of vectors. */
const DOCUMENTS_PER_COMMIT = 2_000;

/**
 * Insert documents of a few chunks each into an empty bucket, in the state after their ingest, with a number of teams.
 *
 * @param shape.after number of documents of other buckets; the ids of these documents continue theirs
 */
export async function fillIndex(
  { sql, tables }: { readonly sql: Sql; readonly tables: LanceTables },
  bucket: { readonly orgId: string; readonly bucketId: string },
  passages: readonly string[],
  shape: { readonly chunksPerDocument: number; readonly teams: number; readonly after?: number },
): Promise<void> {
  const { chunksPerDocument, after = 0 } = shape;
  const { bucketId } = bucket;
  const documents = Math.ceil(passages.length / chunksPerDocument);
  await insertDocuments(sql, bucket, documents, shape);
  const writer = new IndexWriter({
    ...{ sql, direct: sql, chunks: new LanceIndex(tables) },
    logger: openLogger('warn'),
  });
  for (let first = 1; first <= documents; first += CONCURRENT_APPENDS) {
    const last = Math.min(documents, first + CONCURRENT_APPENDS - 1);
    const numbers = Array.from({ length: last - first + 1 }, (_, nth) => first + nth);
    await Promise.all(
      numbers.map((number) => {
        const from = (number - 1) * chunksPerDocument;
        const generation = generationOf(after + number, passages.slice(from, from + chunksPerDocument));
        return writer.append(bucketId, generation, originIn(LEXICAL_SPACE));
      }),
    );
  }
  await writer.close();
}

/** Passages generated on demand, so that a million of them take no memory. */
export interface PassageSource {
  readonly count: number;
  at(nth: number): string;
}

/**
 * Fill an empty bucket like `fillIndex`, but write the rows directly to its table and settle it once at the end: a
 * million rows in minutes. The table isn't cleaned up later, so that only searches run on it.
 *
 * @param onRows called with the number of rows after each commit
 */
export async function fillIndexDirectly(
  { sql, tables }: { readonly sql: Sql; readonly tables: LanceTables },
  bucket: { readonly orgId: string; readonly bucketId: string },
  passages: PassageSource,
  shape: { readonly chunksPerDocument: number; readonly teams: number; readonly onRows?: (rows: number) => void },
): Promise<void> {
  const { chunksPerDocument, onRows } = shape;
  const { bucketId } = bucket;
  const documents = Math.ceil(passages.count / chunksPerDocument);
  await insertDocuments(sql, bucket, documents, shape);
  const table = await tables.openForWriting(bucketId);
  let adding: Promise<unknown> = Promise.resolve();
  for (let first = 1; first <= documents; first += DOCUMENTS_PER_COMMIT) {
    const last = Math.min(documents, first + DOCUMENTS_PER_COMMIT - 1);
    const generations: IndexedGeneration[] = [];
    for (let number = first; number <= last; number++) {
      const from = (number - 1) * chunksPerDocument;
      const count = Math.min(chunksPerDocument, passages.count - from);
      const texts = Array.from({ length: count }, (_, nth) => passages.at(from + nth));
      generations.push(generationOf(number, texts));
    }
    const rows = toArrowTable(generations);
    // Generate the next rows while these are being written.
    await adding;
    adding = table.add(rows as never);
    onRows?.(Math.min(passages.count, last * chunksPerDocument));
  }
  await adding;
  await settle(tables, table);
  const state = await readTableState(table);
  await publishVersion(sql, bucketId, { ...state, origin: originIn(LEXICAL_SPACE), settled: true });
  await sql`UPDATE index_tables SET cleaned_at = now() + interval '1 day' WHERE bucket_id = ${bucketId}`;
}

async function insertDocuments(
  sql: Sql,
  { orgId, bucketId }: { readonly orgId: string; readonly bucketId: string },
  documents: number,
  { chunksPerDocument, teams, after = 0 }: { chunksPerDocument: number; teams: number; after?: number },
): Promise<void> {
  await sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, file_type, size_bytes, sha256, object_key, ingest_options,
                           status, active_generation, metadata)
    SELECT 'doc_' || n, ${orgId}, ${bucketId}, 'file-' || n || '.md', 'md', 1, sha256(('doc_' || n)::bytea), 'k', '{}', 'ready', n,
           jsonb_build_object('team', 'team-' || n % ${teams}::int)
    FROM generate_series(${after + 1}::int, ${after + documents}::int) n`;
  await sql`
    INSERT INTO generations (id, org_id, bucket_id, document_id, job_id, artifact_key, chunks_count, embed_model, space)
    SELECT n, ${orgId}, ${bucketId}, 'doc_' || n, 'job_bench', 'k', ${chunksPerDocument}, 'm', ${LEXICAL_SPACE}
    FROM generate_series(${after + 1}::int, ${after + documents}::int) n`;
  await sql`ANALYZE documents, generations`;
}

function generationOf(number: number, texts: readonly string[]): IndexedGeneration {
  return {
    vectors: embedLexicalPassages(texts),
    chunks: texts.map((text, index) => ({
      ...{ chunkId: `doc_${number}_${number}_${index}`, documentId: `doc_${number}`, generation: number },
      ...{ collectionId: null, chunkIndex: index, text, tokens: analyse(text).join(' ') },
      locator: { page: null, heading_path: [], start: 0, end: text.length },
      ...{ modality: 'text' as const, privacyLevel: 1, eventTimeMs: null },
    })),
  };
}
