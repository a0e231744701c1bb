import { embedLexicalPassages } from '../../src/embedding/providers/local.ts';
import { analyse } from '../../src/language/analyser.ts';
import { openLogger } from '../../src/platform/logger.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { LEXICAL_SPACE } from '../../src/projection/projections.ts';
import type { IndexedGeneration } from '../../src/search/chunk-table.ts';
import { IndexWriter } from '../../src/search/index-writer.ts';
import type { LanceTables } from '../../src/search/lance.ts';
import { originIn } from './origins.ts';

const CONCURRENT_APPENDS = 800;

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
  const { chunksPerDocument, teams, after = 0 } = shape;
  const { orgId, bucketId } = bucket;
  const documents = Math.ceil(passages.length / chunksPerDocument);
  await sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, file_type, size_bytes, sha256, object_key, ingest_options,
                           status, active_generation, metadata)
    SELECT 'doc_' || n, ${orgId}, ${bucketId}, 'file-' || n || '.md', 'md', 1, '\\x00', 'k', '{}', 'ready', n,
           jsonb_build_object('team', 'team-' || n % ${teams}::int)
    FROM generate_series(${after + 1}::int, ${after + documents}::int) n`;
  await sql`
    INSERT INTO generations (id, org_id, bucket_id, document_id, job_id, artifact_key, chunks_count, embed_model, space)
    SELECT n, ${orgId}, ${bucketId}, 'doc_' || n, 'job_bench', 'k', ${chunksPerDocument}, 'm', ${LEXICAL_SPACE}
    FROM generate_series(${after + 1}::int, ${after + documents}::int) n`;
  await sql`ANALYZE documents`;
  const writer = new IndexWriter({ ...{ sql, direct: sql, tables }, logger: openLogger('warn') });
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
