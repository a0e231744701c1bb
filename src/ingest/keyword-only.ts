import { lockIndexName, nameOfTable } from '../index/index-store.ts';
import { JobError } from '../jobs/lease.ts';
import type { HeldJob } from '../jobs/store.ts';
import { AppError } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { KEYWORD_ONLY } from '../projection/projections.ts';
import { INDEX_DIMENSIONS } from '../projection/resize.ts';
import type { EmbeddedChunks } from './chunk-embedder.ts';
import type { NewGeneration } from './generation-store.ts';
import { isUnfound, lockHeldJob, updateToKeywordOnly } from './store.ts';

// Keyword search finds a document that can't be embedded now. Until it is embedded, its generation has no vectors.

/** Reasons that may go away without a change to the document. */
const OUTAGES = new Set(['upstream_unavailable', 'quota', 'not_comparable']);

/** Reason why a document has no vectors for now. */
export interface Outage {
  readonly error: Error;
  /** Table of the bucket's index at the time of the outage, before any row was written. */
  readonly tableName: string;
}

/**
 * Describe why an unsearchable document can't be embedded now. Return null if searches find it, or if the reason won't
 * go away without a change to the document.
 */
export async function outageOf(
  sql: Sql,
  { orgId, bucketId, documentId }: Pick<NewGeneration, 'orgId' | 'bucketId' | 'documentId'>,
  error: unknown,
): Promise<Outage | null> {
  if (!isOutage(error) || !(await isUnfound(sql, orgId, documentId))) return null;
  return { error, tableName: await nameOfTable(sql, bucketId) };
}

function isOutage(error: unknown): error is Error {
  if (error instanceof JobError) return OUTAGES.has(error.failure.category);
  return error instanceof AppError && error.code === 'not_comparable';
}

/** Return zeros in place of the chunk vectors. Only keyword search finds such rows. */
export function withoutVectors(chunks: number): EmbeddedChunks {
  return {
    vectors: new Float32Array(chunks * INDEX_DIMENSIONS),
    native: null,
    model: 'none',
    space: KEYWORD_ONLY,
    mapVersion: null,
    origin: null,
  };
}

/**
 * Make a document that couldn't be embedded searchable by keyword, and list it as failed with the reason, until a later
 * attempt of its job embeds it. Do nothing if the job is lost, or if the document is now searchable, hidden or deleted.
 */
export async function activateWithoutVectors(
  sql: Sql,
  held: HeldJob,
  generation: NewGeneration,
  { format, pages, outage }: { readonly format: string; readonly pages: number | null; readonly outage: Outage },
): Promise<void> {
  const { bucketId } = generation;
  await sql.begin(async (tx) => {
    if (!(await lockHeldJob(tx, held))) return;
    // The rows are in this table. A later table would lack them.
    if (!(await lockIndexName(tx, bucketId, outage.tableName))) return;
    await updateToKeywordOnly(tx, generation, { format, pages, reason: outage.error.message });
  });
}
