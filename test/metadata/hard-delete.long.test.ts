import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { recoverJobs } from '../../src/jobs/recovery.ts';
import { claimJobs } from '../../src/jobs/store.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { filesWith } from '../support/files-with.ts';
import { makeUserToken } from '../support/tokens.ts';
import { until } from '../support/until.ts';

/** A word that occurs in no other text, and too rare for LanceDB to compress. */
const CANARY = 'zqxkvj4409wpf';
const signal = new AbortController().signal;

let test: TestApi;
let key: string;
let admin: string;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
  key = await test.key({ scopes: ['documents:write', 'search', 'jobs:write', 'buckets:manage'], authLevel: 10 });
  admin = await makeUserToken(test.appliance, { role: 'admin' });
});
afterAll(() => test.close());

let buckets = 0;
let bucketId: string;
let documents: string;
beforeEach(async () => {
  const made = await test.call('POST', '/v1/buckets', { key, json: { name: `gone-${++buckets}` } });
  bucketId = made.body.id;
  documents = `/v1/buckets/${bucketId}/documents`;
});

/** Run a worker until `done`. */
async function withWorker(done: () => Promise<boolean>): Promise<void> {
  const worker: Service = test.appliance.jobs.worker('ingest');
  await worker.start(signal);
  try {
    await until(done, { withinMs: 30_000, what: 'the end of the jobs' });
  } finally {
    await worker.stop();
  }
}

const noneOpen = async () => {
  const open = await test.appliance.sql`
    SELECT 1 FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled') AND bucket_id = ${bucketId}`;
  return open.length === 0;
};
const finishJobs = () => withWorker(noneOpen);

interface Uploaded {
  readonly id: string;
  readonly job: string;
  readonly request: object;
}

let uploads = 0;
async function upload(text: string, metadata: object = {}): Promise<Uploaded> {
  const request = {
    key,
    headers: { 'Idempotency-Key': `upload-${++uploads}` },
    json: { filename: `secret-${uploads}.txt`, text, metadata, on_duplicate: 'allow' },
  };
  const { status, body } = await test.call('POST', documents, request);
  expect(status).toBe(202);
  return { id: body.id, job: body.job_id, request };
}

async function hardDelete(where: string, credential = admin) {
  const statement = `HARDDELETE FROM documents WHERE ${where}`;
  const json = { statement, confirm: `HARDDELETE ${bucketId}` };
  const reply = await test.call('PATCH', `${documents}/metadata/bulk`, { key: credential, json });
  expect([reply.status, reply.body.detail]).toEqual([202, undefined]);
  return { ...reply.body, statement };
}

const jobOf = async (id: string) => (await test.call('GET', `/v1/jobs/${id}`, { key })).body;
const herons = async (count: number) => {
  for (let i = 0; i < count; i++) await upload(`Heron number ${i} stands still in ${CANARY.slice(0, 3)}.`);
};

/** Count what is left of a document in the database, by table. */
async function rowsAbout(id: string): Promise<Record<string, unknown>> {
  const { sql } = test.appliance;
  const [row] = await sql`
    SELECT (SELECT count(*)::int FROM documents WHERE id = ${id}) AS documents,
           (SELECT count(*)::int FROM generations WHERE document_id = ${id}) AS generations,
           (SELECT count(*)::int FROM idempotency_keys WHERE response_body::text LIKE ${`%${id}%`}) AS responses,
           (SELECT coalesce(json_agg(file_name), '[]') FROM jobs WHERE document_id = ${id}) AS job_names,
           (SELECT count(*)::int FROM jobs WHERE document_id = ${id} AND metadata_snapshot IS NOT NULL) AS snapshots`;
  return row as Record<string, unknown>;
}

describe('HARDDELETE', () => {
  it('HARDDELETE leaves nothing of a document but its tombstone', async () => {
    await herons(25);
    const deleted = await upload(`${CANARY} was here.`, { name: CANARY, team: 'a' });
    await finishJobs();
    const edit = { json: { metadata: { nick: CANARY }, reindex: false }, key };
    expect((await test.call('PATCH', `${documents}/${deleted.id}/metadata`, edit)).status).toBe(200);
    const again = { key, headers: { 'Idempotency-Key': 'again' } };
    expect((await test.call('POST', `/v1/jobs/${deleted.job}/reprocess`, again)).status).toBe(200);
    await finishJobs();
    expect(filesWith(test.dataDir, CANARY)).not.toEqual([]);

    const { job_id, statement, delete_requested_at, ...reply } = await hardDelete(`team = 'a'`);
    expect(reply).toMatchObject({ matched: 1, updated: 0, skipped: 0, status: 'queued', items: [{ id: deleted.id }] });
    expect(await jobOf(job_id)).toMatchObject({
      ...{ processing_type: 'hard_delete', status: 'queued', bucket_id: bucketId, document_id: null },
      ...{ created_at: delete_requested_at, file_name: 'documents' },
    });
    await finishJobs();
    const done = await jobOf(job_id);
    expect(done).toMatchObject({ status: 'ready', chunks_count: 1, retry_count: 0, error_category: null });
    const listed = await test.call('GET', `/v1/jobs?bucket_id=${bucketId}&limit=1`, { key });
    expect(listed.body).toEqual([done]);

    expect(filesWith(test.dataDir, CANARY)).toEqual([]);
    expect(filesWith(test.dataDir, deleted.id)).toEqual([]);
    for await (const { key: object } of test.appliance.objects.list('documents/'))
      expect(object).not.toContain(deleted.id);
    expect(await rowsAbout(deleted.id)).toEqual({
      ...{ documents: 0, generations: 0, responses: 0, snapshots: 0 },
      job_names: ['deleted', 'deleted'],
    });
    const log = await test.appliance
      .sql`SELECT action, actor, detail FROM audit_log WHERE target = ${deleted.id} ORDER BY id`;
    expect(log).toMatchObject([
      { action: 'document.edit_metadata', detail: { before: {}, after: {}, erased: true } },
      { action: 'document.hard_delete', actor: expect.stringMatching(/^user:/), detail: { statement, job_id } },
    ]);
    const hash = (text: string) => createHash('sha256').update(text).digest('hex');
    expect(log[1]?.['detail']).toEqual({
      ...{ bucket_id: bucketId, statement, job_id },
      ...{ file_name_sha256: hash(`secret-${uploads}.txt`), sha256: hash(`${CANARY} was here.`) },
    });
    const whole = await test.appliance.sql`SELECT detail::text FROM audit_log WHERE detail::text LIKE ${`%${CANARY}%`}`;
    expect(whole).toHaveLength(0);
    const found = await test.call('POST', `/v2/buckets/${bucketId}/search`, {
      key,
      json: { query: 'heron', top_k: 50 },
    });
    expect(found.body.results).toHaveLength(25);

    const replay = await test.call('POST', documents, deleted.request);
    expect(replay).toMatchObject({ status: 410, body: { detail: 'the document of this request was deleted' } });
    expect((await test.call('POST', `/v1/jobs/${deleted.job}/reprocess`, again)).status).toBe(410);
  });

  it('HARDDELETE hides documents and cancels their jobs at once, before its own job runs', async () => {
    const ready = await upload('The plover is ready.', { team: 'a' });
    await finishJobs();
    const waiting = await upload('The plover is waiting.', { team: 'a' });
    const kept = await upload('The plover is kept.');
    const { sql } = test.appliance;
    const claim = { kind: 'ingest', workerId: 'wrk_x', firstPhase: 'extracting', leaseMs: 60_000, limit: 1 } as const;
    const [held] = await claimJobs(sql, { ...claim, suspects: 'none' });
    expect(held?.documentId).toBe(waiting.id);
    const { items } = await hardDelete(`team = 'a'`);
    expect(items.map((item: { id: string }) => item.id)).toEqual([ready.id, waiting.id]);
    const [newest] = (await test.call('GET', '/v1/jobs?limit=1', { key })).body;
    // Contract 2.6: the size is that of the files, in bytes.
    const bytes = 'The plover is ready.'.length + 'The plover is waiting.'.length;
    expect(newest).toMatchObject({ processing_type: 'hard_delete', file_size: bytes });
    const answers = [
      ...(await Promise.all([ready, waiting].map(({ id }) => test.call('GET', `${documents}/${id}`, { key })))),
      await test.call('DELETE', `${documents}/${ready.id}`, { key }),
      await test.call('GET', `/v1/jobs/${ready.job}/download`, { key }),
      await test.call('PATCH', `${documents}/${ready.id}/metadata`, { key, json: { metadata: { a: 'b' } } }),
      await test.call('POST', `/v1/jobs/${ready.job}/reprocess`, { key }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 404]);
    const files = await test.call('GET', `/v1/jobs/${ready.job}/files`, { key });
    expect(files.body.data).toEqual([]);
    const list = await test.call('GET', documents, { key });
    expect(list.body.data.map((each: { id: string }) => each.id)).toEqual([kept.id]);
    const found = await test.call('POST', `/v2/buckets/${bucketId}/search`, { key, json: { query: 'plover' } });
    expect(found.body.results).toEqual([]);
    const select = await test.call('PATCH', `${documents}/metadata/bulk`, {
      key,
      json: { statement: 'SELECT documents' },
    });
    expect(select.body.items.map((item: { id: string }) => item.id)).toEqual([kept.id]);
    expect((await jobOf(waiting.job)).status).toBe('cancelled');
    const [row] = await sql`SELECT fence FROM jobs WHERE id = ${waiting.job}`;
    expect(Number(row?.['fence'])).toBe((held?.fence as number) + 1);
    await finishJobs();
    expect((await rowsAbout(waiting.id))['documents']).toBe(0);
    expect((await jobOf(kept.job)).status).toBe('ready');
  });

  it('HARDDELETE skips documents that are being deleted or were changed meanwhile', async () => {
    const ids = [await upload('a', { team: 'a' }), await upload('b', { team: 'a' })].map(({ id }) => id);
    const both = await Promise.all([hardDelete(`team = 'a'`), hardDelete(`team = 'a'`)]);
    const taken = both.map(({ items }) => items.map((item: { id: string }) => item.id));
    expect(taken.toSorted((a, b) => b.length - a.length)).toEqual([ids, []]);
    for (const { matched, skipped, items } of both) expect(matched).toBe(skipped + items.length);
    const later = await hardDelete(`team = 'a'`);
    expect(later).toMatchObject({ matched: 2, skipped: 2, items: [], warnings: ['skipped 2: they are being deleted'] });
    const json = { statement: `UPDATE documents SET x = '1' WHERE team = 'a'`, reindex: false };
    const edit = await test.call('PATCH', `${documents}/metadata/bulk`, { key, json });
    expect(edit.body).toMatchObject({ updated: 0, skipped: 2, warnings: ['skipped 2: they are being deleted'] });
    const log = await test.appliance.sql`
      SELECT target FROM audit_log WHERE action = 'document.hard_delete' AND target = ANY(${ids}) ORDER BY target`;
    expect(log.map((row) => row['target'])).toEqual(ids);
    await finishJobs();
    const rest = await test.appliance
      .sql`SELECT status FROM jobs WHERE kind = 'hard_delete' AND bucket_id = ${bucketId}`;
    expect(rest.map((row) => row['status'])).toEqual(['ready', 'ready', 'ready']);
  });

  it('HARDDELETE of documents at any moment of their ingest leaves nothing behind', async () => {
    const { sql, objects } = test.appliance;
    const ingest: Service = test.appliance.jobs.worker('ingest');
    await ingest.start(signal);
    const ids: string[] = [];
    try {
      for (let round = 0; round < 12; round++) {
        const team = `t${round}`;
        for (let i = 0; i < 4; i++) ids.push((await upload(`${CANARY} ${round} ${i}`, { team })).id);
        await delay((round * 37) % 120); // the moment of the deletion during ingest; the test holds for any
        expect((await hardDelete(`team = '${team}'`)).items).toHaveLength(4);
      }
      await until(noneOpen, { withinMs: 30_000, what: 'the end of the jobs' });
    } finally {
      await ingest.stop();
    }
    expect(await sql`SELECT 1 FROM documents WHERE id = ANY(${ids})`).toHaveLength(0);
    expect(await sql`SELECT 1 FROM generations WHERE document_id = ANY(${ids})`).toHaveLength(0);
    for await (const { key: object } of objects.list('documents/')) {
      expect(ids).not.toContain(object.split('/')[2]);
    }
    expect(filesWith(test.dataDir, CANARY)).toEqual([]);
  });

  it('HARDDELETE of 2,000 documents is queued in one transaction', async () => {
    const { sql, metadata } = test.appliance;
    await sql`
      INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status, metadata)
      SELECT 'doc_many_' || lpad(i::text, 4, '0'), ${test.operator.orgId}, ${bucketId}, 'a.txt', 1, '\\x00', 'k', '{}', 'ready',
             '{"team": "many"}'
      FROM generate_series(1, 2000) AS i`;
    const rows = await sql`SELECT id FROM documents WHERE bucket_id = ${bucketId}`;
    const request = { caller: test.operator, bucketId, where: null, statement: 's' };
    const ids = rows.map((row) => row['id'] as string);
    const { jobId, documentIds } = await metadata.queueHardDelete({ ...request, documentIds: ids });
    expect(documentIds).toHaveLength(2000);
    await finishJobs();
    expect((await jobOf(jobId)).status).toBe('ready');
    expect(await sql`SELECT 1 FROM documents WHERE bucket_id = ${bucketId}`).toHaveLength(0);
    expect(
      await sql`SELECT 1 FROM audit_log WHERE action = 'document.hard_delete' AND target LIKE 'doc_many_%'`,
    ).toHaveLength(2000);
  });
});

describe('the job of a HARDDELETE', () => {
  const claim = {
    kind: 'hard_delete',
    workerId: 'wrk_x',
    firstPhase: 'indexing',
    leaseMs: 60_000,
    limit: 1,
    suspects: 'none',
  } as const;
  const found = async (text: string) => {
    const json = { query: text, mode: 'keyword' };
    const { body } = await test.call('POST', `/v2/buckets/${bucketId}/search`, { key, json });
    return body.results.map((result: { document_id: string }) => result.document_id);
  };

  it.each([
    ['cancelled', 'POST', '/cancel', { status: 200, body: { status: 'cancelled' } }],
    ['deleted', 'DELETE', '', { status: 204 }],
  ] as const)('a queued HARDDELETE that is %s gives its documents back', async (_label, method, path, reply) => {
    const ready = await upload(`the ${method} heron waits`, { team: 'a' });
    const hidden = await upload(`the ${method} heron hides`, { team: 'a', hidden: 'yes' });
    await finishJobs();
    const statement = `SOFTDELETE FROM documents WHERE hidden = 'yes'`;
    await test.call('PATCH', `${documents}/metadata/bulk`, { key: admin, json: { statement } });
    const waiting = await upload(`the ${method} heron arrives`, { team: 'a' });
    const { job_id, items } = await hardDelete(`team = 'a'`);
    expect(items).toHaveLength(3);
    expect(await found(`${method} heron`)).toEqual([]);
    expect(await test.call(method, `/v1/jobs/${job_id}${path}`, { key })).toMatchObject(reply);
    const statusOf = async ({ id }: Uploaded) => (await test.call('GET', `${documents}/${id}`, { key })).body.status;
    expect([await statusOf(ready), await statusOf(hidden)]).toEqual(['queued', 'ready']);
    await test.appliance.documents.purge(signal);
    await finishJobs();
    expect(await Promise.all([ready, hidden, waiting].map(statusOf))).toEqual(['ready', 'ready', 'ready']);
    expect((await found(`${method} heron`)).toSorted()).toEqual([ready.id, waiting.id].toSorted());
    const log = await test.appliance.sql`
      SELECT target FROM audit_log WHERE action = 'document.hard_delete_cancelled' AND detail->>'job_id' = ${job_id}`;
    expect(log).toHaveLength(3);
  });

  it('a document that a cancelled HARDDELETE gives back is not read again', async () => {
    const { id } = await upload('the heron stays', { team: 'b' });
    await finishJobs();
    const { job_id } = await hardDelete(`team = 'b'`);
    await test.call('POST', `/v1/jobs/${job_id}/cancel`, { key });
    const { sql, objects } = test.appliance;
    const [row] = await sql`SELECT object_key FROM documents WHERE id = ${id}`;
    await objects.delete(row?.['object_key'] as string);
    await finishJobs();
    expect(await found('heron stays')).toEqual([id]);
  });

  it('the documents of a HARDDELETE that has started do not come back when it is cancelled', async () => {
    const { id } = await upload('a', { team: 'a' });
    const { job_id } = await hardDelete(`team = 'a'`);
    const [held] = await claimJobs(test.appliance.sql, claim);
    expect(held?.id).toBe(job_id);
    expect((await test.call('POST', `/v1/jobs/${job_id}/cancel`, { key })).status).toBe(400);
    expect((await test.call('DELETE', `/v1/jobs/${job_id}`, { key })).status).toBe(400);
    // The purge of other deletions leaves these documents to the job.
    await test.appliance.documents.purge(signal);
    expect((await rowsAbout(id))['documents']).toBe(1);
    expect(await test.call('POST', `/v1/jobs/${job_id}/cancel?force=true`, { key })).toMatchObject({
      status: 200,
      body: { status: 'cancelled' },
    });
    expect((await test.call('GET', `${documents}/${id}`, { key })).status).toBe(404);
    await test.appliance.documents.purge(signal);
    expect((await rowsAbout(id))['documents']).toBe(0);
  });

  it('a HARDDELETE whose worker was killed is finished by another one, and its job can then be deleted', async () => {
    const { id } = await upload('a', { team: 'a' });
    const { job_id } = await hardDelete(`team = 'a'`);
    const [held] = await claimJobs(test.appliance.sql, claim);
    expect(held?.id).toBe(job_id);
    await test.appliance.sql`UPDATE jobs SET lease_expires_at = now() - interval '1 second' WHERE id = ${job_id}`;
    await recoverJobs(test.appliance.sql, new Map(), openLogger('silent'));
    await finishJobs();
    expect((await rowsAbout(id))['documents']).toBe(0);
    expect((await test.call('DELETE', `/v1/jobs/${job_id}`, { key })).status).toBe(204);
    expect((await test.call('GET', `/v1/jobs/${job_id}`, { key })).status).toBe(404);
  });

  it('a failed HARDDELETE is finished by its reprocess or by the purge', async () => {
    await herons(25);
    for (const [team, next] of [
      ['a', 'reprocess'],
      ['b', 'purge'],
      ['c', 'deletion of the job'],
    ] as const) {
      const { id } = await upload(`${CANARY} in ${team}.`, { team });
      await finishJobs();
      const { job_id } = await hardDelete(`team = '${team}'`);
      const early = await test.call('POST', `/v1/jobs/${job_id}/reprocess`, { key });
      expect(early.status).toBe(400);
      await test.appliance.sql`UPDATE jobs SET status = 'failed', completed_at = now() WHERE id = ${job_id}`;
      if (next === 'reprocess') {
        const again = await test.call('POST', `/v1/jobs/${job_id}/reprocess`, { key });
        expect(again).toMatchObject({ status: 200, body: { status: 'queued', reprocess_of_job_id: job_id } });
        expect(again.body).toMatchObject({ processing_type: 'hard_delete', file_name: 'documents' });
        await test.appliance.documents.purge(signal);
        expect((await rowsAbout(id))['documents']).toBe(1);
        await finishJobs();
      } else {
        if (next !== 'purge') expect((await test.call('DELETE', `/v1/jobs/${job_id}`, { key })).status).toBe(204);
        await test.appliance.documents.purge(signal);
      }
      expect((await rowsAbout(id))['documents']).toBe(0);
      expect(filesWith(test.dataDir, CANARY)).toEqual([]);
    }
  });

  it('the job of a HARDDELETE that matched nothing succeeds', async () => {
    const { job_id, matched } = await hardDelete(`team = 'nobody'`);
    expect(matched).toBe(0);
    await finishJobs();
    expect(await jobOf(job_id)).toMatchObject({ status: 'ready', chunks_count: 0, file_name: 'documents' });
  });
});
