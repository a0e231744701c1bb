import { expect, it, onTestFinished } from 'vitest';
import { deleteBucket } from '../../src/documents/buckets.ts';
import { filesWith } from '../support/files-with.ts';
import { until } from '../support/until.ts';
import { CANARY, KilledDeletions } from './killed-deletions.ts';

const ROWS = 3_000;
const timeout = 300_000;

async function open(name: string): Promise<KilledDeletions> {
  const deletions = await KilledDeletions.open(name, ROWS);
  onTestFinished(() => deletions.close());
  return deletions;
}

it('a hard delete whose worker is killed at any of its steps is finished by the next', { timeout }, async () => {
  const deletions = await open('hard-deleted');
  await deletions.hardDelete([deletions.hasBegun, deletions.isHalfDone]);
});

it('a bucket whose deletion is killed in the middle is removed by the next process', { timeout }, async () => {
  const deletions = await open('deleted');
  const { bucketId, test } = deletions;
  const { sql, objects } = test.appliance;
  const rows = await sql`SELECT id FROM documents WHERE bucket_id = ${bucketId} AND file_name <> 'row.txt'`;
  const ids = new Set(rows.map((row) => row['id'] as string));
  const waiting = await sql`
    INSERT INTO jobs (id, kind, org_id, bucket_id, document_id, fair_rank, status, s3_key, file_name, file_size)
    VALUES ('job_waiting', 'ingest', ${test.operator.orgId}, ${bucketId}, ${[...ids][0] as string}, 0, 'queued', 'k', 'x.txt', 1)
    RETURNING id`;
  await deleteBucket(sql, test.operator, 'deleted', 'deleted');
  expect(await sql`SELECT status FROM jobs WHERE id = ${waiting[0]?.['id']}`).toEqual([{ status: 'cancelled' }]);
  await deletions.killAt(async () => (await deletions.countOf('documents')) < ROWS, 'serve', '--port', '0');
  expect(await deletions.countOf('documents')).toBeGreaterThan(0);
  await deletions.startProcess('serve', '--port', '0');
  const gone = async () => (await sql`SELECT 1 FROM buckets WHERE id = ${bucketId}`).length === 0;
  await until(gone, { withinMs: 60_000, what: 'the removal of the bucket' });
  expect([await deletions.countOf('documents'), await deletions.countOf('generations')]).toEqual([0, 0]);
  expect(filesWith(test.dataDir, CANARY)).toEqual([]);
  expect(filesWith(test.dataDir, bucketId)).toEqual([]);
  for await (const { key } of objects.list('documents/')) expect(ids.has(key.split('/')[2] as string)).toBe(false);
  for (const table of ['index_tables', 'reprojections', 'retired_index_tables']) {
    expect(await sql`SELECT 1 FROM ${sql(table)} WHERE bucket_id = ${bucketId}`).toHaveLength(0);
  }
});
