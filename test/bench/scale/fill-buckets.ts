import path from 'node:path';
import pLimit from 'p-limit';
import type { Appliance } from '../../../src/appliance/appliance.ts';
import { embedLexicalPassages } from '../../../src/embedding/providers/local.ts';
import type { IndexedChunk } from '../../../src/index/chunk-index.ts';
import { toArrowTable } from '../../../src/index/lance/chunk-table.ts';
import { buildTokenIndex } from '../../../src/index/lance/lance.ts';
import { loadLance } from '../../../src/index/lance/load-lance.ts';
import { analyse } from '../../../src/language/analyser.ts';
import { INDEX_TERMS_VERSION } from '../../../src/language/terms-version.ts';
import { LEXICAL_ID } from '../../../src/models/catalog.ts';
import { LEXICAL_SPACE } from '../../../src/projection/projections.ts';
import { INDEX_DIMENSIONS } from '../../../src/projection/resize.ts';

export const CHUNKS_PER_BUCKET = 100;
const CHUNKS_PER_DOCUMENT = 10;
const QUERY_WORDS = 8;
const TABLES_AT_ONCE = 4;
const ROWS_AT_ONCE = 20_000;
const CACHE_BYTES = 16n * 1024n * 1024n;

/** Passage with its indexed data. */
export interface IndexedPassage {
  readonly text: string;
  readonly tokens: string;
  /** Float32Array [1024]. */
  readonly vector: Float32Array;
}

/** Analyse and embed passages with the built-in model. */
export function indexPassages(texts: readonly string[]): IndexedPassage[] {
  return texts.flatMap((text) => {
    const tokens = analyse(text).join(' ');
    return tokens === '' ? [] : [{ text, tokens, vector: embedLexicalPassages([text]).subarray(0, INDEX_DIMENSIONS) }];
  });
}

export function bucketName(nth: number): string {
  return `bucket-${nth}`;
}

function bucketIdOf(nth: number): string {
  return `bkt_scale_${nth}`;
}

/** Create a query from some words of a passage. */
export function queryOf({ tokens, text }: IndexedPassage): string {
  const words = text.split(' ').slice(0, QUERY_WORDS).join(' ');
  return analyse(words).length > 0 ? words : tokens.split(' ').slice(0, QUERY_WORDS).join(' ');
}

/** Return the passage at a position of a bucket. */
export function passageAt(passages: readonly IndexedPassage[], bucket: number, place: number): IndexedPassage {
  return passages[(bucket * 37 + place) % passages.length] as IndexedPassage;
}

/**
 * Insert buckets of a hundred chunks each, in the state after their ingest: rows of PostgreSQL in bulk, and one LanceDB
 * table for each, written in one commit and indexed.
 *
 * @param buckets.orgOf organization of each bucket
 */
export async function fillBuckets(
  { sql, config }: Pick<Appliance, 'sql' | 'config'>,
  passages: readonly IndexedPassage[],
  buckets: { readonly count: number; readonly orgOf: (nth: number) => string },
): Promise<void> {
  const { connect, Session } = loadLance();
  const uri = path.join(config.dataDir, 'index');
  const connection = await connect(uri, { session: new Session(CACHE_BYTES, CACHE_BYTES) });
  const documents = CHUNKS_PER_BUCKET / CHUNKS_PER_DOCUMENT;
  const versions: number[] = [];
  const withSlot = pLimit(TABLES_AT_ONCE);
  const write = async (nth: number) => {
    const chunks = Array.from({ length: CHUNKS_PER_BUCKET }, (_, place) => chunkOf(passages, nth, place, documents));
    const vectors = new Float32Array(CHUNKS_PER_BUCKET * INDEX_DIMENSIONS);
    for (let place = 0; place < CHUNKS_PER_BUCKET; place++) {
      vectors.set(passageAt(passages, nth, place).vector, place * INDEX_DIMENSIONS);
    }
    const table = await connection.createTable(bucketIdOf(nth), toArrowTable([{ chunks, vectors }]) as never);
    await buildTokenIndex(table);
    versions[nth] = await table.version();
    table.close();
  };
  await Promise.all(Array.from({ length: buckets.count }, (_, nth) => withSlot(() => write(nth))));
  connection.close();
  for (let first = 0; first < buckets.count; first += ROWS_AT_ONCE / documents) {
    const last = Math.min(buckets.count, first + ROWS_AT_ONCE / documents);
    const rows = Array.from({ length: last - first }, (_, at) => ({
      ...{ id: bucketIdOf(first + at), org: buckets.orgOf(first + at), name: bucketName(first + at) },
      ...{ nth: first + at, version: versions[first + at] },
    }));
    await sql.begin(async (tx) => {
      const given = tx`jsonb_to_recordset(${tx.json(rows)}) AS given (id text, org text, name text, nth int, version int)`;
      await tx`INSERT INTO buckets (id, org_id, name, policy) SELECT id, org, name, '{}' FROM ${given}`;
      await tx`
        INSERT INTO documents (id, org_id, bucket_id, file_name, file_type, size_bytes, sha256, object_key, ingest_options,
                               status, active_generation, chunks_count, metadata)
        SELECT 'doc_' || n, org, id, 'file-' || n || '.md', 'md', 1, '\\x00', 'k', '{}', 'ready', n,
               ${CHUNKS_PER_DOCUMENT}, '{}'
        FROM ${given}, LATERAL generate_series(nth * ${documents}::int + 1, (nth + 1) * ${documents}::int) n`;
      await tx`
        INSERT INTO generations (id, org_id, bucket_id, document_id, job_id, artifact_key, chunks_count, embed_model, space)
        SELECT n, org, id, 'doc_' || n, 'job_bench', 'k', ${CHUNKS_PER_DOCUMENT}, ${LEXICAL_ID}, ${LEXICAL_SPACE}
        FROM ${given}, LATERAL generate_series(nth * ${documents}::int + 1, (nth + 1) * ${documents}::int) n`;
      await tx`
        INSERT INTO index_tables (bucket_id, version, model, space, settled, fragments, unindexed_rows, cleaned_at,
                                  terms_version)
        SELECT id, version, ${LEXICAL_ID}, ${LEXICAL_SPACE}, true, 1, 0, now() + interval '1 day',
               ${INDEX_TERMS_VERSION}::integer FROM ${given}`;
    });
  }
  await sql`ANALYZE`;
}

function chunkOf(passages: readonly IndexedPassage[], bucket: number, place: number, documents: number): IndexedChunk {
  const number = bucket * documents + Math.floor(place / CHUNKS_PER_DOCUMENT) + 1;
  const index = place % CHUNKS_PER_DOCUMENT;
  const { text, tokens } = passageAt(passages, bucket, place);
  return {
    ...{ chunkId: `doc_${number}_${number}_${index}`, documentId: `doc_${number}`, generation: number },
    ...{ collectionId: null, chunkIndex: index, text, tokens },
    locator: { page: null, heading_path: [], start: 0, end: text.length },
    ...{ modality: 'text' as const, privacyLevel: 1, eventTimeMs: null },
  };
}
