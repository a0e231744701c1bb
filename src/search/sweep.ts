import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import { findDeadGenerations } from './index-store.ts';
import type { IndexWriter } from './index-writer.ts';

const BATCH_MAX = 500;

/**
 * Remove dead generations: those replaced by a newer one, and those of an attempt that never finished. The artifact is
 * deleted first and the row last, so that the remains of a crash are found again. The artifact is deleted once more
 * after the row, since an attempt that lost its job without knowing may have written it in between.
 *
 * @returns number of removed generations
 */
export async function sweepGenerations(
  sql: Sql,
  objects: Objects,
  index: IndexWriter,
  signal: AbortSignal,
): Promise<number> {
  let swept = 0;
  for (;;) {
    const dead = await findDeadGenerations(sql, BATCH_MAX);
    if (dead.length === 0) return swept;
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
}
