import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import { findDeadGenerations } from './index-store.ts';
import type { IndexWriter } from './index-writer.ts';

const BATCH_MAX = 500;

/**
 * Remove generations that lost their turn: replaced by a newer one, or written by an attempt that never finished.
 * The artifact goes first and the row last, so that whatever a crash leaves is found again; and the artifact once more
 * behind the row, for an attempt that lost its job without knowing, and wrote it in between.
 *
 * @returns how many were removed
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
