import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import { findDeadGenerations, findGenerationRange, findNewestGeneration } from './index-store.ts';
import type { IndexWriter } from './index-writer.ts';

const BATCH_MAX = 500;
/** Generations that one query reads, which takes some 50 ms. */
const RANGE_MAX = 20_000;
/** Ranges that one sweep looks at, however many generations there are. */
const RANGES_MAX = 3;

/** Place of the next sweep in the order of generations. */
export interface SweepCursor {
  /** Id of a generation after which it begins; null: a random one, so that short-lived processes reach all. */
  after: number | null;
}

/**
 * Remove dead generations: those replaced by a newer one, and those of an attempt that never finished. A sweep looks at
 * the next 60,000 generations after the cursor, the last one being followed by the first; of up to 40,000 it sees all. The
 * artifact is deleted first and the row last, so that the remains of a crash are found again. The artifact is deleted
 * once more after the row, since an attempt that lost its job without knowing may have written it in between.
 *
 * @returns number of removed generations
 */
export async function sweepGenerations(
  sql: Sql,
  objects: Objects,
  index: IndexWriter,
  signal: AbortSignal,
  cursor: SweepCursor = { after: null },
  rangeMax = RANGE_MAX,
): Promise<number> {
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
      const dead = await findDeadGenerations(sql, range, BATCH_MAX);
      if (dead.length === 0) break;
      for (const [bucketId, generations] of Map.groupBy(dead, (generation) => generation.bucketId)) {
        const ids = generations.map((generation) => generation.id);
        const deleteArtifacts = async () => {
          for (const generation of generations) await objects.delete(generation.artifactKey);
        };
        await deleteArtifacts();
        await index.dropGenerations(bucketId, ids, signal);
        await deleteArtifacts();
      }
      swept += dead.length;
    }
    cursor.after = range.upTo;
  }
  return swept;
}
