import { expect, it } from 'vitest';
import type { Caller } from '../../../src/access/caller.ts';
import { MIGRATIONS } from '../../../src/appliance/stores.ts';
import { createBucket } from '../../../src/documents/buckets.ts';
import { BucketPolicy } from '../../../src/documents/schema.ts';
import { migrate } from '../../../src/platform/migrate.ts';
import { openPostgres, type Sql } from '../../../src/platform/postgres.ts';
import { findIndexForCaller } from '../../../src/search/bucket-index-store.ts';
import { readAllFacts } from '../../../src/search/documents/copy-store.ts';
import { DocumentCopy } from '../../../src/search/documents/document-copy.ts';
import { makeKeyRing, makeOrg } from '../../support/access.ts';
import { clusterUnderTest } from '../../support/embedded-cluster.ts';
import { until } from '../../support/until.ts';

const cluster = clusterUnderTest();
const SCOPE = { collectionId: null, filter: null };

const startOf = async (sql: Sql) => (await sql`SELECT pg_postmaster_start_time()::text AS at`)[0]?.['at'] as string;

async function readCopy(sql: Sql, orgId: string, bucketId: string): Promise<DocumentCopy> {
  const all = await readAllFacts(sql, orgId, bucketId, 100);
  if (!all) throw new Error('there are too many documents');
  return new DocumentCopy(bucketId, all.snapshot, all.documents);
}

/** Have numbers of transactions handed out of which nothing is written to the log on disk. */
async function takeNumbers(sql: Sql): Promise<void> {
  for (let nth = 0; nth < 5; nth++) {
    const failing = sql.begin(async (tx) => {
      await tx`UPDATE documents SET updated_at = now()`;
      throw new Error('given up');
    });
    await expect(failing).rejects.toThrow('given up');
  }
}

it('a copy of documents is not used after a crash of a process of PostgreSQL, which uses numbers of transactions again', async () => {
  const server = await cluster.open();
  const sql = openPostgres(server.connection, { poolMax: 2, applicationName: 'test' });
  try {
    await migrate(sql, { directory: MIGRATIONS });
    const { operator } = await makeOrg(sql, makeKeyRing());
    const { id: bucketId } = await createBucket(sql, operator, { name: 'b', policy: BucketPolicy.parse({}) });
    await sql`
      INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status,
                             active_generation, privacy_level)
      VALUES ('doc_a', ${operator.orgId}, ${bucketId}, 'a', 1, '\\x00', 'k', '{}', 'ready', 1, 1)`;
    await takeNumbers(sql);
    const copy = await readCopy(sql, operator.orgId, bucketId);
    const start = await startOf(sql);

    const [backend] = await sql`SELECT pg_backend_pid() AS pid`;
    process.kill(backend?.['pid'] as number, 'SIGKILL'); // as the killer of processes does when the memory is used up
    await until(async () => (await sql`SELECT 1 FROM server_run`.catch(() => null))?.length === 0, {
      ...{ withinMs: 30_000, what: 'the end of the recovery' },
    });
    expect(await startOf(sql)).toBe(start);

    await sql`UPDATE documents SET privacy_level = 10 WHERE id = 'doc_a'`;
    await takeNumbers(sql);
    const changesOf = async (own: DocumentCopy) => {
      const { changes } = await findIndexForCaller(sql, operator, 'b', own.snapshot);
      if (!changes) throw new Error('no changes were told');
      return changes;
    };
    expect(copy.follow(copy.snapshot, await changesOf(copy))).toBe(false);
    const next = await readCopy(sql, operator.orgId, bucketId);
    expect(copy.follow(copy.snapshot, await changesOf(copy))).toBe(false);
    expect(next.follow(next.snapshot, await changesOf(next))).toBe(true);
    const reader = { ...operator, role: 'member', scopes: new Set(['search:read']), authLevel: 5 } as unknown as Caller;
    expect([...next.find(next.selectorOf(reader, SCOPE), ['doc_a']).keys()]).toEqual([]);
  } finally {
    await sql.end({ timeout: 1 });
    await server.release();
  }
}, 120_000);
