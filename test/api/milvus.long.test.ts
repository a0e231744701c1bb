import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engineOf } from '../../src/index/engines.ts';
import { dropReindexRun, startReindexRun } from '../../src/index/writing/reindex-store.ts';
import { nextTableName } from '../../src/index/writing/replace-table.ts';
import { newId } from '../../src/platform/ids.ts';
import { inTransaction } from '../../src/platform/postgres.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { milvusAvailable, startMilvus, type TestMilvus } from '../support/milvus.ts';
import { until } from '../support/until.ts';

const MS_MAX = 60_000;

it('a bucket on Milvus is refused where no Milvus is configured', async () => {
  const test = await openTestApi({ worker: false });
  try {
    const key = await test.key({ scopes: ['buckets:manage'] });
    const create = (engine: string) =>
      test.call('POST', '/v1/buckets', { key, json: { name: `on-${engine}`, engine } });
    expect(await create('milvus')).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('index.milvus.url') },
    });
    expect(await create('lance')).toMatchObject({ status: 201, body: { engine: 'lance' } });
    expect((await create('other')).status).toBe(400);
  } finally {
    await test.close();
  }
});

describe.skipIf(!milvusAvailable())('a bucket on Milvus', () => {
  let milvus: TestMilvus;
  let test: TestApi;
  let key: string;
  beforeAll(async () => {
    milvus = await startMilvus();
    test = await openTestApi({ settings: { index: { milvus: { url: milvus.settings.url } } } });
    key = await test.key({ scopes: ['search', 'documents:write', 'buckets:manage'] });
  });
  afterAll(async () => {
    await test?.close();
    await milvus?.drop();
  });

  async function create(name: string, as = key): Promise<string> {
    const { status, body } = await test.call('POST', '/v1/buckets', { key: as, json: { name, engine: 'milvus' } });
    expect([status, body.engine]).toEqual([201, 'milvus']);
    return body.id;
  }

  async function upload(bucket: string, text: string, as = key): Promise<string> {
    const json = { filename: `${text.split(' ')[0]}.md`, text };
    return (await test.call('POST', `/v1/buckets/${bucket}/documents`, { key: as, json })).body.id;
  }

  const statusOf = async (bucket: string, id: string, as = key) =>
    (await test.call('GET', `/v1/buckets/${bucket}/documents/${id}`, { key: as })).body.status;
  const ready = (bucket: string, id: string, as = key) =>
    until(async () => (await statusOf(bucket, id, as)) === 'ready', { withinMs: MS_MAX });
  const search = (bucket: string, query: string, { as = key, mode = 'hybrid' } = {}) =>
    test.call('POST', `/v2/buckets/${bucket}/search`, { key: as, json: { query, mode } });
  const found = async (bucket: string, query: string, options?: { as?: string; mode?: string }) =>
    (await search(bucket, query, options)).body.results.map((result: { document_id: string }) => result.document_id);

  it(
    'finds a document as soon as it is ready, by words and by vectors, and cites its text',
    async () => {
      const bucket = await create('birds');
      for (const text of ['Heron. The heron fishes in the reeds.', 'Stork. The stork nests on the roof.']) {
        const id = await upload(bucket, text);
        await ready(bucket, id);
        for (const mode of ['hybrid', 'keyword', 'vector']) {
          const { body } = await search(bucket, text, { mode });
          expect(body.results[0]).toMatchObject({ document_id: id, text: expect.stringContaining(text.slice(0, 20)) });
        }
      }
      const [row] = await test.appliance.sql`SELECT table_name FROM index_tables WHERE bucket_id = ${bucket}`;
      expect(engineOf(row?.['table_name'])).toBe('milvus');
      const { body } = await test.call('GET', `/v1/buckets/${bucket}`, { key });
      expect(body).toMatchObject({ engine: 'milvus', document_count: 2 });
    },
    MS_MAX,
  );

  it(
    'finds nothing of a replaced or deleted document, and nothing of another organization',
    async () => {
      const bucket = await create('changes');
      const other = await test.key({
        org: 'other',
        scopes: ['search', 'documents:write', 'buckets:manage'],
      });
      const theirs = await create('changes', other);
      const foreign = await upload(theirs, 'Osprey. The osprey dives.', other);
      await ready(theirs, foreign, other);
      const gone = await upload(bucket, 'Gull. The gull steals.');
      const kept = await upload(bucket, 'Tern. The tern dives.');
      for (const id of [gone, kept]) await ready(bucket, id);
      expect(await found(bucket, 'dives', { mode: 'keyword' })).toEqual([kept]);
      expect(await found(theirs, 'dives', { as: other, mode: 'keyword' })).toEqual([foreign]);
      expect((await search(theirs, 'dives')).status).toBe(404);
      await test.call('DELETE', `/v1/buckets/${bucket}/documents/${gone}`, { key });
      expect(await found(bucket, 'gull')).not.toContain(gone);
      await test.appliance.documents.purge(new AbortController().signal);
      const { milvus: index } = test.appliance.search;
      const [row] = await test.appliance.sql`SELECT table_name FROM index_tables WHERE bucket_id = ${bucket}`;
      await until(async () => [...((await index?.countByGeneration(row?.['table_name'])) ?? [])].length === 1);
    },
    MS_MAX,
  );

  it(
    'is searched together with a bucket of LanceDB',
    async () => {
      const bucket = await create('joined');
      const { body: lance } = await test.call('POST', '/v1/buckets', { key, json: { name: 'joined-lance' } });
      const ids = [
        await upload(bucket, 'Crane. The crane dances.'),
        await upload(lance.id, 'Egret. The egret dances.'),
      ];
      await ready(bucket, ids[0] as string);
      await ready(lance.id, ids[1] as string);
      const json = { query: 'dances', buckets: [bucket, lance.id] };
      const { body } = await test.call('POST', '/v2/search', { key, json });
      expect(body.results.map((result: { document_id: string }) => result.document_id).sort()).toEqual(ids.toSorted());
    },
    MS_MAX,
  );

  it(
    'answers 503 while Milvus is down, keeps uploads waiting, and goes on afterwards',
    async () => {
      const bucket = await create('outage');
      await ready(bucket, await upload(bucket, 'Plover. The plover runs.'));
      await milvus.kill();
      const refused = await search(bucket, 'plover');
      expect(refused).toMatchObject({ status: 503, body: { detail: expect.stringContaining('Milvus') } });
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await search('default', 'plover')).status).toBe(200);
      expect(await test.appliance.checkReady()).toMatchObject({ status: 'degraded', checks: { index: 'ok' } });
      const waiting = await upload(bucket, 'Dunlin. The dunlin probes.');
      const { sql } = test.appliance;
      await until(async () => {
        const [job] = await sql`
          SELECT retry_count FROM jobs
          WHERE document_id = ${waiting} AND status = 'queued' AND generation IS NOT NULL`;
        return job?.['retry_count'] === 0;
      });
      expect(['queued', 'processing']).toContain(await statusOf(bucket, waiting));
      await milvus.start();
      await ready(bucket, waiting);
      expect(await found(bucket, 'dunlin')).toContain(waiting);
      expect(await found(bucket, 'plover')).toHaveLength(2);
    },
    2 * MS_MAX,
  );

  it(
    'leaves nothing in Milvus when it is deleted',
    async () => {
      const bucket = await create('short-lived');
      await ready(bucket, await upload(bucket, 'Snipe. The snipe drums.'));
      const { search: context, sql } = test.appliance;
      const table = { name: `${bucket}_milvus`, version: 1 };
      expect(await context.milvus?.statistics(table)).toMatchObject({ rows: 1 });
      const admin = test.operator;
      const { deleteBucket } = await import('../../src/documents/buckets.ts');
      await deleteBucket(sql, admin, bucket, 'short-lived');
      await until(async () => {
        await test.appliance.documents.purge(new AbortController().signal);
        return (await context.milvus?.open([table])) === null;
      });
    },
    MS_MAX,
  );

  const move = (bucket: string, engine: string, dry_run = false) =>
    test.call('POST', `/v1/buckets/${bucket}/move`, { key, json: { engine, dry_run } });
  const engineNow = async (bucket: string) => {
    const { body } = await test.call('GET', `/v1/buckets/${bucket}`, { key });
    const [row] = await test.appliance.sql`
      SELECT coalesce(table_name, bucket_id) AS name FROM index_tables WHERE bucket_id = ${bucket}`;
    return [body.engine, row === undefined ? null : engineOf(row['name'])];
  };
  const jobDone = (id: string) =>
    until(
      async () => {
        const [job] = await test.appliance.sql`SELECT status, error_message FROM jobs WHERE id = ${id}`;
        if (job?.['status'] === 'failed') throw new Error(String(job['error_message']));
        return job?.['status'] === 'ready';
      },
      { withinMs: MS_MAX },
    );

  it(
    'is moved to Milvus and back while it is searched and written to',
    async () => {
      const { body } = await test.call('POST', '/v1/buckets', { key, json: { name: 'moved' } });
      const bucket = body.id;
      const names = Array.from({ length: 30 }, (_, nth) => `Warbler${nth}`);
      const ids = await Promise.all(names.map((name) => upload(bucket, `${name}. The ${name} sings in reeds.`)));
      for (const id of ids) await ready(bucket, id);
      const deleted = ids.pop() as string;
      for (const engine of ['milvus', 'lance']) {
        expect((await move(bucket, engine, true)).body).toMatchObject({ job_id: null, dry_run: true, engine });
        const { status, body: reply } = await move(bucket, engine);
        expect([status, typeof reply.job_id]).toEqual([202, 'string']);
        let isDone = false;
        const done = jobDone(reply.job_id).finally(() => {
          isDone = true;
        });
        if (engine === 'milvus') await test.call('DELETE', `/v1/buckets/${bucket}/documents/${deleted}`, { key });
        const added = await upload(bucket, `Bunting. The bunting sings on ${engine}.`);
        for (let nth = 0; !isDone; nth = (nth + 1) % ids.length) {
          expect((await found(bucket, `${names[nth]}`, { mode: 'keyword' }))[0]).toBe(ids[nth]);
        }
        await done;
        await ready(bucket, added);
        ids.push(added);
        names.push('Bunting');
        expect(await engineNow(bucket)).toEqual([engine, engine]);
        const json = { query: 'sings', mode: 'keyword', top_k: 50 };
        const { body: all } = await test.call('POST', `/v2/buckets/${bucket}/search`, { key, json });
        const shown = all.results.map((result: { document_id: string }) => result.document_id);
        expect(shown.toSorted()).toEqual(ids.toSorted());
        expect((await move(bucket, engine)).body.job_id).toBeNull();
      }
    },
    3 * MS_MAX,
  );

  it(
    'is moved once Milvus answers again, and is searched on LanceDB until then',
    async () => {
      const { body } = await test.call('POST', '/v1/buckets', { key, json: { name: 'waiting' } });
      const id = await upload(body.id, 'Bittern. The bittern booms.');
      await ready(body.id, id);
      await milvus.kill();
      const { body: reply } = await move(body.id, 'milvus');
      const { sql } = test.appliance;
      await until(async () => (await sql`SELECT 1 FROM reprojections WHERE bucket_id = ${body.id}`).length > 0);
      expect(await found(body.id, 'bittern')).toEqual([id]);
      expect((await move(body.id, 'milvus')).status).toBe(409);
      await milvus.start();
      await jobDone(reply.job_id);
      expect(await engineNow(body.id)).toEqual(['milvus', 'milvus']);
      expect(await found(body.id, 'bittern')).toEqual([id]);
    },
    2 * MS_MAX,
  );

  it(
    'takes another engine at once before anything is indexed',
    async () => {
      const bucket = await create('empty');
      expect((await move(bucket, 'lance')).body).toMatchObject({ job_id: null, engine: 'lance' });
      expect(await engineNow(bucket)).toEqual(['lance', null]);
      const id = await upload(bucket, 'Avocet. The avocet wades.');
      await ready(bucket, id);
      expect(await engineNow(bucket)).toEqual(['lance', 'lance']);
    },
    MS_MAX,
  );

  it(
    'leaves nothing of a run that was given up: its half-built collection is swept',
    async () => {
      const { sql, search: context } = test.appliance;
      const { body } = await test.call('POST', '/v1/buckets', { key, json: { name: 'given-up' } });
      const id = newId('rpj');
      const name = nextTableName(body.id, id, 'milvus');
      const run = { id, bucketId: body.id, kind: 'rebuild', tableName: name, origin: null, jobId: null } as const;
      await inTransaction(sql, (tx) => startReindexRun(tx, run));
      await context.milvus?.version(name);
      expect(await context.milvus?.statistics({ name, version: 1 })).toMatchObject({ rows: 0 });
      await inTransaction(sql, (tx) => dropReindexRun(tx, body.id));
      await sql`UPDATE retired_index_tables SET retired_at = now() - interval '1 day' WHERE bucket_id = ${body.id}`;
      const sweep = test.appliance.chores().find((chore) => chore.name === 'removal of replaced index tables');
      await sweep?.run(new AbortController().signal);
      expect(await context.milvus?.open([{ name, version: 1 }])).toBeNull();
      expect(await sql`SELECT 1 FROM retired_index_tables WHERE bucket_id = ${body.id}`).toHaveLength(0);
    },
    MS_MAX,
  );
});
