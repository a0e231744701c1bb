import { LEXICAL_ID } from '../models/catalog.ts';
import { type AppError, conflict, tryLater } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { LEXICAL_SPACE, modelOfSpace } from '../projection/projections.ts';
import { getIndexTable, hasLiveOfOtherSpace } from './index-store.ts';
import { findReindexRun } from './writing/reindex-store.ts';

/**
 * Check that vectors of `space` may be added to the bucket's index. Searchable vectors in the index must be in the same
 * space.
 *
 * @throws AppError `not_comparable` (409) naming the command to run; `index_moving` (503) while a reprojection moves
 *   the bucket into that space
 */
export async function checkComparable(sql: Sql, bucketId: string, space: string): Promise<void> {
  const held = (await getIndexTable(sql, bucketId))?.origin?.space ?? null;
  if (held === null || held === space || !(await hasLiveOfOtherSpace(sql, bucketId, space))) return;
  throw await refusalOf(sql, bucketId, { held, given: space });
}

/** Build the error for vectors of space `given` that can't be stored beside vectors of `held`. */
export async function refusalOf(
  sql: Sql,
  bucketId: string,
  { held, given }: { held: string; given: string },
): Promise<AppError> {
  if ((await findReindexRun(sql, bucketId))?.origin?.space === given) {
    return tryLater(`the bucket is being moved to the space ${given}; it will be tried again`, 'index_moving', {
      retryAfterSeconds: 30,
    });
  }
  return conflict(
    `the bucket has vectors of the space ${held}, which cannot be searched together with vectors of ${given}: ${remedyOf(bucketId, held, given)}`,
    'not_comparable',
  );
}

function remedyOf(bucketId: string, held: string, given: string): string {
  const [holder, giver] = [modelOfSpace(held), modelOfSpace(given)];
  if (held === LEXICAL_SPACE) {
    return `upload into a new bucket, or first delete the documents that ${LEXICAL_ID} embedded here`;
  }
  if (given === LEXICAL_SPACE)
    return 'choose a default model of that space (service routing set), or upload to a new bucket';
  const reproject = `service index reproject --bucket ${bucketId} --model`;
  if (holder === null && giver !== null) return `run "service projections fit --model ${giver}"`;
  if (holder === null) return `run "${reproject}" with the models that embedded it (service index stats)`;
  const fits = [`"service projections fit --model ${holder}" unless it has a map`, `then "${reproject} ${holder}"`];
  if (giver !== null) fits.splice(1, 0, `"service projections fit --model ${giver}"`);
  return `run ${fits.join(', ')}`;
}
