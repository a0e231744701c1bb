import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';

const WAIT = { withinMs: 50_000 };
let test: TestApi;
let key: string;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
  key = await test.key({ scopes: ['search', 'documents:write', 'buckets:manage'] });
});
afterAll(() => test.close());

let buckets = 0;
/** Requests on a bucket of its own. */
async function newBucket() {
  const bucket = `replace-${++buckets}`;
  await test.call('POST', '/v1/buckets', { key, json: { name: bucket } });
  const documents = `/v1/buckets/${bucket}/documents`;
  return {
    upload: (text: string, more: object = {}, as = key) =>
      test.call('POST', documents, {
        key: as,
        json: { filename: 'a.md', source_path: 'manuals/a.md', on_duplicate: 'replace', text, ...more },
      }),
    show: async (id: string) => (await test.call('GET', `${documents}/${id}`, { key })).body,
    list: async () => (await test.call('GET', documents, { key })).body.data as { id: string }[],
    edit: (id: string, json: object) => test.call('PATCH', `${documents}/${id}/metadata`, { key, json }),
    find: async (query: string): Promise<string[]> => {
      const json = { query, mode: 'keyword' };
      const { body } = await test.call('POST', `/v2/buckets/${bucket}/search`, { key, json });
      return body.results.map((result: { text: string }) => result.text);
    },
  };
}

async function withWorker(use: () => Promise<void>): Promise<void> {
  const worker: Service = test.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  await use().finally(() => worker.stop());
}
const jobsEnd = () =>
  withWorker(() =>
    until(async () => {
      const [row] = await test.appliance.sql`
        SELECT count(*)::int AS open FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')`;
      return row?.['open'] === 0;
    }, WAIT).then(() => undefined),
  );

it('the document of a path gets the new content, and searches find its old text until the new one is ready', async () => {
  const bucket = await newBucket();
  const first = await bucket.upload('The heron was grey.', { metadata: { team: 'birds' }, privacy_level: 2 });
  expect([first.status, first.body.replaced]).toEqual([202, undefined]);
  await jobsEnd();
  await bucket.edit(first.body.id, { review_status: 'approved', reindex: false });

  const second = await bucket.upload('The heron is white.', { metadata: { year: '2026' } });
  expect(second).toMatchObject({ status: 202, body: { id: first.body.id, replaced: true, status: 'queued' } });
  expect(second.body.job_id).not.toBe(first.body.job_id);
  expect(await bucket.find('heron')).toEqual(['The heron was grey.']);

  // At every moment exactly one of both is found.
  await withWorker(async () => {
    const seen: string[][] = [];
    await until(async () => {
      seen.push(await bucket.find('heron'));
      return seen.at(-1)?.includes('The heron is white.');
    }, WAIT);
    // The job may be done before the first search of this loop.
    expect(seen.slice(0, -1)).toEqual(seen.slice(0, -1).map(() => ['The heron was grey.']));
    expect(seen.at(-1)).toEqual(['The heron is white.']);
  });
  expect(await bucket.list()).toHaveLength(1);
  expect(await bucket.show(first.body.id)).toMatchObject({
    ...{ status: 'ready', privacy_level: 2, review_status: 'approved', source_path: 'manuals/a.md' },
    ...{ metadata: { team: 'birds', year: '2026' }, job_id: second.body.job_id, error_message: null },
  });
});

it('the replaced bytes are removed from the storage', async () => {
  const bucket = await newBucket();
  const { body } = await bucket.upload('one');
  await bucket.upload('two');
  await jobsEnd();
  const keys = [];
  for await (const object of test.appliance.objects.list(`documents/${test.operator.orgId}/${body.id}/`)) {
    if (object.key.includes('/original')) keys.push(object.key);
  }
  const [row] = await test.appliance.sql`SELECT object_key FROM documents WHERE id = ${body.id}`;
  expect(keys).toEqual([row?.['object_key']]);
});

it('the same content changes nothing', async () => {
  const bucket = await newBucket();
  const { body: first } = await bucket.upload('same');
  const { body: again } = await bucket.upload('same');
  expect(again).toMatchObject({ id: first.id, duplicate_of: first.id, job_id: first.job_id });
  expect(await bucket.list()).toHaveLength(1);
});

it('equal files of two paths are two documents', async () => {
  const bucket = await newBucket();
  const { body: a } = await bucket.upload('same');
  const { body: b } = await bucket.upload('same', { source_path: 'manuals/b.md' });
  expect(b.duplicate_of).toBeUndefined();
  expect(b.id).not.toBe(a.id);
});

it('older documents of the path go when the newest one is replaced', async () => {
  const bucket = await newBucket();
  const { body: old } = await bucket.upload('one', { on_duplicate: 'allow' });
  const { body: newest } = await bucket.upload('two', { on_duplicate: 'allow' });
  expect(newest.warnings).toEqual([expect.stringContaining(old.id)]);
  const { body: replaced } = await bucket.upload('three');
  expect(replaced.id).toBe(newest.id);
  expect((await bucket.list()).map(({ id }) => id)).toEqual([newest.id]);
});

it('a document whose new content cannot be read is found by its old text, and says why', async () => {
  const bucket = await newBucket();
  const { body } = await bucket.upload('The heron stays.');
  await jobsEnd();
  await bucket.upload('', { text: undefined, content_base64: Buffer.from('%PDF-1.7 broken').toString('base64') });
  await jobsEnd();
  expect(await bucket.find('heron')).toEqual(['The heron stays.']);
  const shown = await bucket.show(body.id);
  expect(shown).toMatchObject({ status: 'ready', error_message: expect.stringMatching(/\w/) });
  const { body: job } = await test.call('GET', `/v1/jobs/${shown.job_id}`, { key });
  expect(job.status).toBe('failed');
  await bucket.upload('The heron flies.');
  await jobsEnd();
  expect(await bucket.find('heron')).toEqual(['The heron flies.']);
  expect((await bucket.show(body.id)).error_message).toBeNull();
});

it('an edit of metadata while the new content is read does not bring the old text back', async () => {
  const bucket = await newBucket();
  const { body } = await bucket.upload('The heron was grey.');
  await jobsEnd();
  const { body: second } = await bucket.upload('The heron is white.');
  // The job of the new content is in progress, so that the edit queues one of its own.
  await test.appliance.sql`
    UPDATE jobs SET status = 'extracting', worker_id = 'wrk_gone', fence = fence + 1, lease_expires_at = now() + interval '1 hour'
    WHERE id = ${second.job_id}`;
  const edit = await bucket.edit(body.id, { metadata: { team: 'birds' } });
  expect(edit.body.reindex_queued).toBe(true);
  await test.appliance.sql`UPDATE jobs SET status = 'cancelled' WHERE id = ${second.job_id}`;
  await jobsEnd();
  expect(await bucket.find('heron')).toEqual(['The heron is white.']);
});

it('a caller without the right to edit may replace content but not the access policy', async () => {
  const bucket = await newBucket();
  const writer = await test.key({ scopes: ['documents:write'] });
  const { body } = await bucket.upload('one', { privacy_level: 3 });
  expect((await bucket.upload('two', {}, writer)).status).toBe(202);
  expect((await bucket.upload('three', { privacy_level: 1 }, writer)).status).toBe(403);
  expect((await bucket.upload('three', { privacy_level: 3 }, writer)).status).toBe(202);
  expect((await bucket.show(body.id)).privacy_level).toBe(3);
});

it('a document that the caller may not see is neither replaced nor named', async () => {
  const bucket = await newBucket();
  const low = await test.key({ scopes: ['documents:write'], authLevel: 3 });
  const high = await test.key({ scopes: ['documents:write'], authLevel: 9 });
  const { body: hidden } = await bucket.upload('secret', { privacy_level: 9 }, high);
  const { status, body } = await bucket.upload('mine', {}, low);
  expect([status, body.replaced, body.warnings]).toEqual([202, undefined, []]);
  expect(body.id).not.toBe(hidden.id);
  const [row] = await test.appliance.sql`SELECT status FROM documents WHERE id = ${hidden.id}`;
  expect(row?.['status']).not.toBe('deleting');
});

it('replacing needs a source_path', async () => {
  const bucket = await newBucket();
  for (const source_path of [undefined, '', null]) {
    const { status, body } = await bucket.upload('one', { source_path });
    expect([status, body.detail]).toEqual([400, expect.stringMatching(/^source_path: is required/)]);
  }
});

it('metadata beyond the limits of a document is refused', async () => {
  const bucket = await newBucket();
  const many = (prefix: string) => Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`${prefix}${n}`, 'x']));
  expect((await bucket.upload('one', { metadata: many('a') })).status).toBe(202);
  const { status, body } = await bucket.upload('two', { metadata: many('b') });
  expect([status, body.detail]).toEqual([400, expect.stringMatching(/^metadata: /)]);
});

it('of two uploads of a new path at the same time one succeeds, and the other can be sent again', async () => {
  const bucket = await newBucket();
  const answers = await Promise.all(['one', 'two', 'three', 'four'].map((text) => bucket.upload(text)));
  const statuses = answers.map(({ status }) => status);
  expect(statuses).toContain(202);
  expect(statuses.filter((status) => status !== 202 && status !== 409)).toEqual([]);
  expect(await bucket.list()).toHaveLength(1);
});
