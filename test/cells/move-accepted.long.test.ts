import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { artifactKey } from '../../src/documents/documents.ts';
import { claimJobs } from '../../src/jobs/store.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { milvusAvailable, startMilvus } from '../support/milvus.ts';
import { S3_KEYS, s3Available, startS3 } from '../support/s3.ts';
import { until } from '../support/until.ts';
import { openMove } from './support.ts';

const run = promisify(execFile);
const LEASE_MS = 60_000;
let source: TestApi;
let target: TestApi;

beforeAll(async () => {
  source = await openTestApi();
  target = await openTestApi();
});
afterAll(async () => {
  await source.close();
  await target.close();
});

/** Make an organization with a bucket, and return its id and a key. */
async function organization(api: TestApi, name: string, engine = 'lance'): Promise<{ id: string; key: string }> {
  const key = await api.key({ org: name, scopes: ['search', 'documents:write', 'buckets:manage'], authLevel: 10 });
  expect((await api.call('POST', '/v1/buckets', { key, json: { name: 'library', engine } })).status).toBe(201);
  const [row] = await api.appliance.sql`SELECT id FROM organizations WHERE name = ${name}`;
  return { id: row?.['id'] as string, key };
}

const upload = (api: TestApi, key: string, name: string) =>
  api.call('POST', '/v1/buckets/library/documents', { key, json: { filename: `${name}.txt`, text: `The ${name}.` } });

const statuses = async ({ appliance: { sql } }: TestApi, orgId: string) =>
  (await sql`SELECT status FROM documents WHERE org_id = ${orgId} ORDER BY id`).map((row) => row['status'] as string);

test('jobs that wait or that a worker holds move, and run at the target alone', async () => {
  const idle = await openTestApi({ worker: false });
  onTestFinished(() => idle.close());
  const { id, key } = await organization(idle, 'waiting');
  for (const name of ['first', 'second', 'third']) expect((await upload(idle, key, name)).status).toBe(202);
  const claim = { kind: 'ingest', workerId: 'wkr_dead', firstPhase: 'extracting', leaseMs: LEASE_MS } as const;
  const held = await claimJobs(idle.appliance.sql, { ...claim, limit: 1, suspects: 'none' });
  expect(held).toHaveLength(1);
  const move = openMove('waiting');
  onTestFinished(move.remove);
  expect(await move.exportFrom(idle, { waitMs: 0 })).toMatchObject({ requeued_jobs: 1, documents: 0 });
  expect(await claimJobs(idle.appliance.sql, { ...claim, limit: 9, suspects: 'none' })).toEqual([]);
  await move.importInto(target);
  expect(await statuses(target, id)).toEqual(expect.arrayContaining(['queued', 'queued']));
  expect(await claimJobs(target.appliance.sql, { ...claim, limit: 9, suspects: 'none' })).toEqual([]);
  await move.release(idle);
  await move.activate(target);
  await until(async () => (await statuses(target, id)).every((status) => status === 'ready'), { what: 'ingest' });
  expect(await statuses(target, id)).toHaveLength(3);
});

test('a change that began before the move is in the export, and a later one is refused by the database', async () => {
  const { id, key } = await organization(source, 'racing');
  const { sql } = source.appliance;
  const insert = (tx: typeof sql, name: string) => tx`
    INSERT INTO buckets (id, org_id, name, policy) VALUES (${`bkt_${name}`}, ${id}, ${name}, '{}')`;
  const commit = Promise.withResolvers<void>();
  const inserted = Promise.withResolvers<void>();
  const early = sql.begin(async (tx) => {
    await insert(tx, 'early');
    inserted.resolve();
    await commit.promise;
  });
  await inserted.promise;
  const move = openMove('racing');
  onTestFinished(move.remove);
  const exporting = move.exportFrom(source);
  const waits = async () => {
    const rows = await sql`SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE%'`;
    return rows.length > 0;
  };
  await until(waits, { what: 'the move to wait for the change' });
  commit.resolve();
  await early;
  await exporting;
  await expect(insert(sql, 'late')).rejects.toMatchObject({ code: 'SVMOV' });
  expect((await upload(source, key, 'late')).status).toBe(503);
  await move.importInto(target);
  const [row] = await target.appliance
    .sql`SELECT array_agg(name ORDER BY name) AS names FROM buckets WHERE org_id = ${id}`;
  expect(row?.['names']).toEqual(['default', 'early', 'library']);
});

test('a document whose stored chunks are lost at the source is named at the target, and the others arrive', async () => {
  const { id, key } = await organization(source, 'damaged');
  const lost = (await upload(source, key, 'lost')).body.id;
  await upload(source, key, 'kept');
  await until(async () => (await statuses(source, id)).every((status) => status === 'ready'), { what: 'ingest' });
  const { sql, objects } = source.appliance;
  const [row] = await sql`SELECT active_generation AS generation FROM documents WHERE id = ${lost}`;
  await objects.delete(artifactKey(id, lost, Number(row?.['generation'])));
  const move = openMove('damaged');
  onTestFinished(move.remove);
  expect(await move.exportFrom(source)).toMatchObject({ missing_objects: 1, documents: 2 });
  expect(await move.importInto(target)).toMatchObject({ missing_files: 1, left_out: [lost] });
  await move.release(source);
  await move.activate(target);
  const found = await target.call('POST', '/v2/buckets/library/search', { key, json: { query: 'kept' } });
  expect(found.body.results).toHaveLength(1);
});

test('an export to a full disk says so, and continues once there is space', async (context) => {
  const { key } = await organization(source, 'large');
  const noise = Array.from({ length: 40_000 }, (_, nth) => `word${(nth * 7919) % 99_991}`).join(' ');
  expect((await upload(source, key, noise.slice(0, 1)))?.status).toBe(202);
  const json = { filename: 'noise.txt', text: noise };
  expect((await source.call('POST', '/v1/buckets/library/documents', { key, json })).status).toBe(202);
  const move = openMove('large');
  onTestFinished(move.remove);
  const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', move.directory]).catch(() => null);
  if (mounted === null) return context.skip('it mounts a tmpfs, which needs root');
  onTestFinished(async () => void (await run('umount', [move.directory]).catch(() => undefined)));
  await expect(move.exportFrom(source)).rejects.toMatchObject({ code: 'storage_full' });
  await run('mount', ['-o', 'remount,size=64m', move.directory]);
  expect(await move.exportFrom(source)).toMatchObject({ missing_objects: 0 });
  await move.check(target);
});

test.skipIf(!s3Available())('an organization moves through a bucket on S3', async () => {
  const s3 = await startS3();
  onTestFinished(() => s3.drop());
  const location = { kind: 's3', bucket: await s3.createBucket(), prefix: 'moves/afar/' } as const;
  const backup = { to: `s3://${location.bucket}/backups/` };
  const from = await openTestApi({ settings: { objects: { endpoint: s3.endpoint, ...S3_KEYS }, backup } });
  onTestFinished(() => from.close());
  const { id, key } = await organization(from, 'afar');
  for (const name of ['first', 'second']) await upload(from, key, name);
  await until(async () => (await statuses(from, id)).every((status) => status === 'ready'), { what: 'ingest' });
  const move = openMove('afar', { location, config: from.appliance.config });
  onTestFinished(move.remove);
  await move.exportFrom(from);
  await move.importInto(target);
  await move.release(from);
  await move.activate(target);
  const found = await target.call('POST', '/v2/buckets/library/search', { key, json: { query: 'second' } });
  expect(found.body.results[0].text).toContain('second');
});

test.skipIf(!milvusAvailable())(
  'a bucket on Milvus moves to the Milvus of the target, and is refused without one',
  async () => {
    const servers = [await startMilvus(), await startMilvus()];
    onTestFinished(async () => {
      for (const server of servers) await server.drop();
    });
    const [from, to] = await Promise.all(
      servers.map(({ settings: { url } }) => openTestApi({ settings: { index: { milvus: { url } } } })),
    );
    onTestFinished(async () => {
      await from?.close();
      await to?.close();
    });
    if (from === undefined || to === undefined) return;
    const { id, key } = await organization(from, 'wide', 'milvus');
    for (const name of ['first', 'second']) await upload(from, key, name);
    await until(async () => (await statuses(from, id)).every((status) => status === 'ready'), { what: 'ingest' });
    const move = openMove('wide');
    onTestFinished(move.remove);
    await move.exportFrom(from);
    await expect(move.importInto(target)).rejects.toThrow(/engine milvus/);
    await move.importInto(to);
    await move.release(from);
    await move.activate(to);
    const found = await to.call('POST', '/v2/buckets/library/search', { key, json: { query: 'second' } });
    expect(found.body.results[0].text).toContain('second');
  },
);
