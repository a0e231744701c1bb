import type { Appliance } from '../../../src/appliance/appliance.ts';
import { embedLexicalPassages } from '../../../src/embedding/providers/local.ts';
import type { IndexedGeneration } from '../../../src/index/chunk-index.ts';
import { toArrowTable } from '../../../src/index/lance/chunk-table.ts';
import { ArtifactWriter } from '../../../src/ingest/artifact-store.ts';
import { analyse } from '../../../src/language/analyser.ts';
import { INDEX_TERMS_VERSION } from '../../../src/language/terms-version.ts';
import { LEXICAL_ID } from '../../../src/models/catalog.ts';
import { LEXICAL_SPACE } from '../../../src/projection/projections.ts';
import { INDEX_DIMENSIONS } from '../../../src/projection/resize.ts';
import { readPassages } from '../../support/real-passages.ts';

const CHUNKS_PER_DOCUMENT = 100;
const DOCUMENTS_PER_COMMIT = 100;
const PASSAGES = 100_000;
/** Step through the second halves. It is coprime to the number of passages. */
const STEP = 7_919;

/**
 * Create a source of any number of distinct passages. Each combines the first half of one real passage with the second
 * half of another.
 */
export function passageSource(count: number): (nth: number) => string {
  const halves = readPassages(Math.min(PASSAGES, count)).map((passage) => {
    const middle = passage.indexOf(' ', passage.length / 2);
    return middle === -1 ? [passage, passage] : [passage.slice(0, middle), passage.slice(middle)];
  });
  const size = halves.length;
  return (nth) => `${halves[nth % size]?.[0]}${halves[(nth + Math.floor(nth / size) * STEP) % size]?.[1]}`;
}

/**
 * Insert documents of a hundred chunks each into a bucket, with their artifacts if it has any, in the state in which many jobs
 * leave it before the index is settled.
 *
 * @param range numbers of the first document and of the one after the last
 */
export async function fillChunks(
  { sql, objects, threads, search }: Pick<Appliance, 'sql' | 'objects' | 'threads' | 'search'>,
  bucket: { readonly orgId: string; readonly bucketId: string; readonly hasArtifacts: boolean },
  passage: (nth: number) => string,
  range: { readonly from: number; readonly to: number },
): Promise<void> {
  const { orgId, bucketId, hasArtifacts } = bucket;
  const { signal } = new AbortController();
  await sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, file_type, size_bytes, sha256, object_key, ingest_options,
                           status, active_generation, chunks_count, metadata)
    SELECT 'doc_' || n, ${orgId}, ${bucketId}, 'file-' || n || '.md', 'md', 1, '\\x00', 'documents/doc_' || n || '/file',
           '{}', 'ready', n, ${CHUNKS_PER_DOCUMENT}, '{}'
    FROM generate_series(${range.from}::int, ${range.to - 1}::int) n`;
  await sql`
    INSERT INTO generations (id, org_id, bucket_id, document_id, job_id, artifact_key, chunks_count, embed_model, space)
    SELECT n, ${orgId}, ${bucketId}, 'doc_' || n, 'job_bench', 'documents/doc_' || n || '/chunks-' || n,
           ${CHUNKS_PER_DOCUMENT}, ${LEXICAL_ID}, ${LEXICAL_SPACE}
    FROM generate_series(${range.from}::int, ${range.to - 1}::int) n`;
  const table = await search.lance.tables.openForWriting(bucketId);
  for (let first = range.from; first < range.to; first += DOCUMENTS_PER_COMMIT) {
    const last = Math.min(range.to, first + DOCUMENTS_PER_COMMIT);
    const generations: IndexedGeneration[] = [];
    for (let number = first; number < last; number++) {
      const generation = generationOf(number, passage);
      generations.push(generation);
      if (!hasArtifacts) continue;
      const { chunks, vectors } = generation;
      await objects.put(`documents/doc_${number}/file`, Buffer.from('-'));
      await new ArtifactWriter({ objects, threads }, `documents/doc_${number}/chunks-${number}`, { signal }).write(
        {
          ...{
            documentId: `doc_${number}`,
            generation: number,
            model: LEXICAL_ID,
            space: LEXICAL_SPACE,
            mapVersion: null,
          },
          ...{ dimensions: INDEX_DIMENSIONS, vectors, native: null },
          chunks: chunks.map(({ chunkId, chunkIndex, text, locator }) => ({
            ...{ id: chunkId, index: chunkIndex, text, token_count: 100, locator },
          })),
        },
        true,
      );
    }
    await table.add(toArrowTable(generations) as never);
  }
  const version = await table.version();
  await sql`
    INSERT INTO index_tables (bucket_id, version, model, space, settled, terms_version)
    VALUES (${bucketId}, ${version}, ${LEXICAL_ID}, ${LEXICAL_SPACE}, false, ${INDEX_TERMS_VERSION})
    ON CONFLICT (bucket_id) DO UPDATE SET version = excluded.version, settled = false, updated_at = now()`;
  await sql`ANALYZE`;
}

export function documentsOf(chunks: number): number {
  return Math.ceil(chunks / CHUNKS_PER_DOCUMENT);
}

function generationOf(number: number, passage: (nth: number) => string): IndexedGeneration {
  const texts = Array.from({ length: CHUNKS_PER_DOCUMENT }, (_, at) =>
    passage((number - 1) * CHUNKS_PER_DOCUMENT + at),
  );
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
