import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordAudit, sweepAuditLog } from '../../src/access/audit.ts';
import { sweepFinishedJobs } from '../../src/jobs/sweep-jobs.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

const DAY_MS = 24 * 3_600_000;
const never = () => new AbortController().signal;
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  await database.sql`INSERT INTO organizations (id, name, plan) VALUES ('org_a', 'a', 'free')`;
  await database.sql`INSERT INTO buckets (id, org_id, name, policy) VALUES ('bkt_a', 'org_a', 'a', '{}')`;
  await database.sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status)
    VALUES ('doc_a', 'org_a', 'bkt_a', 'a.txt', 1, '', 'k', '{}', 'ready')`;
});
afterAll(() => database.drop());

async function insertJob(id: string, fields: { kind?: string; status?: string; documentId?: string; days: number }) {
  const { kind = 'ingest', status = 'ready', documentId = null, days } = fields;
  await database.sql`
    INSERT INTO jobs (id, kind, org_id, bucket_id, document_id, fair_rank, status, s3_key, file_name, file_size,
                      created_at, completed_at)
    VALUES (${id}, ${kind}, 'org_a', 'bkt_a', ${documentId}, 0, ${status}, 'k', 'a.txt', 1,
            now() - ${days}::int * interval '1 day',
            CASE WHEN ${status} = 'queued' THEN NULL ELSE now() - ${days}::int * interval '1 day' END)`;
}

test('old finished jobs are deleted, but not the last one of a document nor a bulk job with results', async () => {
  const { sql } = database;
  await insertJob('job_first', { documentId: 'doc_a', days: 90 });
  await insertJob('job_last', { documentId: 'doc_a', days: 80, status: 'failed' });
  await insertJob('job_gone', { documentId: 'doc_gone', days: 40 });
  await insertJob('job_young', { documentId: 'doc_gone', days: 2 });
  await insertJob('job_queued', { documentId: 'doc_gone', days: 90, status: 'queued' });
  await insertJob('job_bulk', { kind: 'bulk', days: 90 });
  await insertJob('job_swept', { kind: 'bulk', days: 90 });
  for (const id of ['job_bulk', 'job_swept']) {
    await sql`
      INSERT INTO bulk_jobs (job_id, model, backend, vector_dimensions, input_count, chunk_size, token_count, swept_at)
      VALUES (${id}, 'm', 'm', 1, 1, 1, 1, CASE WHEN ${id} = 'job_swept' THEN now() END)`;
  }
  expect(await sweepFinishedJobs(sql, 30 * DAY_MS, never())).toBe(3);
  const left = await sql`SELECT id FROM jobs ORDER BY id`;
  expect(left.map((row) => row['id'])).toEqual(['job_bulk', 'job_last', 'job_queued', 'job_young']);
});

test('old entries of the audit log are deleted', async () => {
  const { sql } = database;
  for (const target of ['old', 'older', 'young']) {
    await recordAudit(sql, { orgId: 'org_a', actor: 'key:x', action: 'thing.change', target });
  }
  await sql`UPDATE audit_log SET at = now() - interval '31 days' WHERE target <> 'young'`;
  expect(await sweepAuditLog(sql, 30 * DAY_MS, never())).toBe(2);
  expect(await sql`SELECT target FROM audit_log`).toEqual([{ target: 'young' }]);
});
