import { newId } from '../platform/ids.ts';
import type { Sql } from '../platform/postgres.ts';
import { BucketPolicy } from './schema.ts';
import { insertBucket } from './store.ts';

/** Create the first bucket of an organization. */
export async function createDefaultBucket(sql: Sql, orgId: string): Promise<void> {
  await insertBucket(sql, orgId, { id: newId('bkt'), name: 'default', policy: BucketPolicy.parse({}) });
}
