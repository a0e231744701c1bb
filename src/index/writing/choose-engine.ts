import type { Engine } from '../../documents/schema.ts';
import type { Sql } from '../../platform/postgres.ts';
import { getIndexTable, updateEngine } from '../index-store.ts';
import { withIndexWriterLock } from './writer-lock.ts';

/** Choose the engine of a bucket without an index. A bucket with an index keeps its engine. */
export function chooseEngine(
  { sql, direct }: { readonly sql: Sql; readonly direct: Sql },
  bucketId: string,
  engine: Engine,
): Promise<void> {
  // A writer reads the engine under the same lock before it creates the first table.
  return withIndexWriterLock(direct, bucketId, async () => {
    if ((await getIndexTable(sql, bucketId)) === null) await updateEngine(sql, bucketId, engine);
  });
}
