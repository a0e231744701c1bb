import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import { readArtifact } from './artifact-store.ts';
import { selectLiveArtifacts } from './store.ts';

/** Sample at most `max` texts of searchable chunks of a bucket, from random documents. */
export async function sampleChunks(
  { sql, objects }: { sql: Sql; objects: Objects },
  orgId: string,
  bucketId: string,
  max: number,
): Promise<string[]> {
  const texts: string[] = [];
  for (const { artifactKey } of await selectLiveArtifacts(sql, orgId, bucketId, max)) {
    const { chunks } = await readArtifact(objects, artifactKey);
    for (const chunk of chunks) texts.push(chunk.text);
    if (texts.length >= max) break;
  }
  return texts.slice(0, max);
}
