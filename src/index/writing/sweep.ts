import { BucketFaults } from '../../documents/bucket-faults.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Objects } from '../../platform/objects/objects.ts';
import type { Sql } from '../../platform/postgres.ts';
import { findDeadGenerations, findGenerationRange, findNewestGeneration } from '../index-store.ts';
import type { IndexWriter } from './index-writer.ts';

const BATCH_MAX = 500;
/** Number of generations per query, which takes about 50 ms. */
const RANGE_MAX = 20_000;
/** Maximum number of ranges per sweep, however many generations there are. */
const RANGES_MAX = 3;

/** Position at which the next sweep starts. */
export interface SweepCursor {
  /** Generation id to start after; null for a random one, so that short-lived processes together cover all. */
  after: number | null;
}

export interface SweepContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly index: IndexWriter;
  readonly logger: Logger;
}

/**
 * Remove dead generations: superseded ones, and those of attempts that never finished. A sweep reads the next 60,000
 * generations after the cursor and wraps around at the end. If there are at most 40,000, it reads all of them.
 *
 * Delete the artifact first and the row last, so that the next sweep finds what a crash left. Delete the artifact again
 * after the row, since an attempt that lost its job without noticing may have written it in between. If one bucket
 * fails, continue with the others.
 *
 * @returns number of removed generations
 * @throws the error of the first bucket that failed, once the others are done
 */
export async function sweepGenerations(
  { sql, objects, index, logger }: SweepContext,
  signal: AbortSignal,
  cursor: SweepCursor = { after: null },
  rangeMax = RANGE_MAX,
): Promise<number> {
  const faults = new BucketFaults(logger, signal, 'dead generations of a bucket were not removed; trying again later');
  let swept = 0;
  let hasWrapped = false;
  cursor.after ??= Math.floor(Math.random() * (await findNewestGeneration(sql)));
  for (let ranges = 0; ranges < RANGES_MAX; ranges++) {
    let range = await findGenerationRange(sql, cursor.after, rangeMax);
    if (range === null && !hasWrapped) {
      hasWrapped = true;
      range = await findGenerationRange(sql, 0, rangeMax);
    }
    if (range === null) break;
    for (;;) {
      const dead = await findDeadGenerations(sql, range, BATCH_MAX, faults.failed);
      if (dead.length === 0) break;
      for (const [bucketId, generations] of Map.groupBy(dead, (generation) => generation.bucketId)) {
        const ids = generations.map((generation) => generation.id);
        const deleteArtifacts = async () => {
          for (const generation of generations) await objects.delete(generation.artifactKey);
        };
        const remove = async () => {
          await deleteArtifacts();
          await index.dropGenerations(bucketId, ids, signal);
          await deleteArtifacts();
        };
        if (await faults.attempt(bucketId, remove)) swept += ids.length;
      }
    }
    cursor.after = range.upTo;
  }
  faults.throwFirst();
  return swept;
}
