import type { Caller } from '../access/caller.ts';
import { countInBucket, findBucket, listBucketNames } from '../documents/store.ts';
import type { Sql } from '../platform/postgres.ts';
import type { ChunkIndex } from './chunk-index.ts';
import { getIndexTable, selectLiveGroups } from './index-store.ts';
import { findReindexRun } from './writing/reindex-store.ts';

/** Content of a bucket's index, and the searchable documents according to PostgreSQL. */
export interface IndexStats {
  readonly bucket_id: string;
  readonly bucket: string;
  /** Model for queries and uploads; null if nothing was ever indexed. */
  readonly model: string | null;
  /** Latent space of the vectors; null if nothing was ever indexed. */
  readonly space: string | null;
  readonly documents: number;
  /** Searchable chunks according to PostgreSQL. */
  readonly chunks: number;
  /** Chunks that only the keyword leg finds yet, since a local model is still computing their vectors. */
  readonly words_only_chunks: number;
  /** Number of rows of the table, including rows that have yet to be removed. */
  readonly rows: number;
  /** Number of data files. Many small files slow down searches until they are merged. */
  readonly fragments: number;
  readonly small_fragments: number;
  /** Number of rows that the keyword index doesn't include yet. */
  readonly unindexed_rows: number;
  /** Target space of a reprojection that is running or was killed; null if there is none. */
  readonly reprojecting_to: string | null;
  readonly models: readonly {
    readonly model: string;
    readonly revision: string | null;
    /** Null if the vectors are uncalibrated. */
    readonly map_version: number | null;
    readonly documents: number;
    readonly chunks: number;
    /** True if native vectors are stored, so that the vectors can be projected again. */
    readonly native: boolean;
  }[];
}

async function readIndexStats(
  { sql, chunks }: { sql: Sql; chunks: ChunkIndex },
  caller: Caller,
  bucket: { id: string; name: string },
): Promise<IndexStats> {
  const own = await getIndexTable(sql, bucket.id);
  const table = own && (await chunks.statistics(own));
  const models = await selectLiveGroups(sql, caller.orgId, bucket.id);
  const { chunksByWords } = await countInBucket(sql, caller, bucket.id);
  return {
    bucket_id: bucket.id,
    bucket: bucket.name,
    model: own?.origin?.model ?? null,
    space: own?.origin?.space ?? null,
    documents: models.reduce((sum, each) => sum + each.documents, 0),
    chunks: models.reduce((sum, each) => sum + each.chunks, 0),
    words_only_chunks: chunksByWords,
    rows: table?.rows ?? 0,
    fragments: table?.fragments ?? 0,
    small_fragments: table?.smallFragments ?? 0,
    unindexed_rows: table?.unindexedRows ?? 0,
    reprojecting_to: (await findReindexRun(sql, bucket.id))?.origin?.space ?? null,
    models: models.map((each) => ({
      model: each.model,
      revision: each.revision,
      map_version: each.mapVersion,
      documents: each.documents,
      chunks: each.chunks,
      native: each.nativeDimension !== null,
    })),
  };
}

/**
 * Read the index statistics of one bucket (name or id), or of all buckets.
 *
 * @param caller an operator: the statistics include documents of every level
 * @throws AppError `bucket_not_found` (404)
 */
export async function listIndexStats(
  context: { sql: Sql; chunks: ChunkIndex },
  caller: Caller,
  bucketRef: string | null,
): Promise<IndexStats[]> {
  const { sql } = context;
  const buckets = bucketRef === null ? await listBucketNames(sql, caller) : [await findBucket(sql, caller, bucketRef)];
  const stats: IndexStats[] = [];
  for (const bucket of buckets) stats.push(await readIndexStats(context, caller, bucket));
  return stats;
}
