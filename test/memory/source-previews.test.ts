import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { queueDueSources } from '../../src/memory/sources.ts';
import { type Answer, openTestApi, type TestApi } from '../support/api.ts';
import { makeFolder } from '../support/memory.ts';
import { until } from '../support/until.ts';

/** Time of files that a synchronisation takes to be settled. */
const LONG_AGO = new Date('2024-03-01T12:00:00Z');

let test: TestApi;
let key: string;
const root = makeFolder();

beforeAll(async () => {
  const place = { type: 'folder', root: root.folder };
  const sources = { docs: place, others: { ...place, organizations: ['others'] } };
  test = await openTestApi({ settings: { sources } });
  key = await test.key({ scopes: ['sources:manage', 'jobs:write'] });
});
afterAll(async () => {
  await test.close();
  root.remove();
});

function write(name: string, text: string): void {
  const file = path.join(root.folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  utimesSync(file, LONG_AGO, LONG_AGO);
}

const call = (method: string, to: string, json?: unknown): Promise<Answer> =>
  test.call(method, `/v1/memory/${to}`, { key, ...(json === undefined ? {} : { json }) });

async function synced(id: string, indexed: number) {
  return until(
    async () => {
      const { body } = await call('GET', `sources/${id}`);
      return body.sync_state !== 'syncing' && body.indexed_document_count === indexed && body;
    },
    { withinMs: 120_000, what: 'the end of a synchronisation' },
  );
}

describe('the preview of a source', () => {
  it('shows what a synchronisation would find, and writes nothing', async () => {
    for (let nth = 0; nth < 12; nth++) write(`preview/${nth}.txt`, `Text number ${nth}.`);
    const place = { connection: 'docs', config: { path: 'preview', include: ['*.txt'] } };
    const fresh = await call('POST', 'preview', { ...place, limit: 3 });
    expect(fresh.status).toBe(200);
    expect(fresh.body).toMatchObject({ is_complete: true, entries_count: 12, changes: null, faults: [], cost_usd: 0 });
    expect(fresh.body.entries).toHaveLength(3);
    // Each text is a chunk of its own, however short.
    expect(fresh.body.chunks).toBe(12);
    const { body: source } = await call('POST', 'sources', { name: 'preview', bucket: 'default', ...place });
    await call('POST', `sources/${source.id}/sync`, {});
    await synced(source.id, 12);
    write('preview/new.txt', 'A new text.');
    write('preview/1.txt', 'A longer text in the place of number 1.');
    rmSync(path.join(root.folder, 'preview/2.txt'));
    const { body } = await call('POST', 'preview', { source: source.id });
    expect(body.changes).toEqual({ added: 1, changed: 1, removed: 1, unchanged: 10 });
    expect((await call('GET', `sources/${source.id}`)).body.indexed_document_count).toBe(12);
  });

  it('tells what keeps a place from being listed', async () => {
    const missing = await call('POST', 'preview', { connection: 'docs', config: { path: 'nowhere' } });
    expect(missing).toMatchObject({ status: 400, body: { detail: expect.stringContaining('check that it exists') } });
    const foreign = await call('POST', 'preview', { connection: 'others' });
    expect(foreign).toMatchObject({ status: 400, body: { detail: expect.stringContaining('has no "others"') } });
    expect((await call('POST', 'preview', {})).status).toBe(400);
    expect((await call('POST', 'preview', { source: 'src_none' })).status).toBe(404);
  });
});

describe('a source that is paused', () => {
  it('is not synchronised by its schedule or on request until it is resumed', async () => {
    write('paused/a.txt', 'The first text.');
    const place = { connection: 'docs', config: { path: 'paused' }, schedule: '* * * * *' };
    const { body: source } = await call('POST', 'sources', { name: 'paused', bucket: 'default', ...place });
    const paused = await call('PATCH', `sources/${source.id}`, { paused: true });
    expect(paused.body).toMatchObject({ paused_at: expect.any(String), sync_state: 'idle' });
    await test.appliance.sql`UPDATE sources SET next_sync_at = now() - interval '1 minute' WHERE id = ${source.id}`;
    await queueDueSources(test.appliance.memory);
    expect((await call('GET', `sources/${source.id}`)).body.sync_job_id).toBeNull();
    const refused = await call('POST', `sources/${source.id}/sync`, {});
    expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining('sources resume paused') } });
    expect((await call('PATCH', `sources/${source.id}`, { paused: false })).body.paused_at).toBeNull();
    const { sync_job_id: jobId } = await synced(source.id, 1);
    await call('PATCH', `sources/${source.id}`, { paused: true });
    const again = await test.call('POST', `/v1/jobs/${jobId}/reprocess`, { key });
    expect(again).toMatchObject({ status: 409, body: { detail: expect.stringContaining('sources resume paused') } });
  });
});

it('an entry that could not be read is listed with its reason, and is read again alone', async () => {
  write('faults/a.txt', 'A text that can be read.');
  symlinkSync('b.txt', path.join(root.folder, 'faults/b.txt'));
  const place = { connection: 'docs', config: { path: 'faults' } };
  const { body: source } = await call('POST', 'sources', { name: 'faults', bucket: 'default', ...place });
  await call('POST', `sources/${source.id}/sync`, {});
  await synced(source.id, 1);
  const faults = await call('GET', `sources/${source.id}/faults`);
  expect(faults.body).toEqual([
    { key: 'b.txt', is_folder: false, fault: 'it cannot be read (ELOOP)', since: expect.any(String) },
  ]);
  rmSync(path.join(root.folder, 'faults/b.txt'));
  write('faults/b.txt', 'It can be read now.');
  write('faults/c.txt', 'Not asked for.');
  await call('POST', `sources/${source.id}/sync`, { entries: ['b.txt'] });
  await synced(source.id, 2);
  expect((await call('GET', `sources/${source.id}/faults`)).body).toEqual([]);
  expect((await call('GET', `sources/${source.id}`)).body.counts).toMatchObject({ added: 1, removed: 0, unchanged: 0 });
});

it('a folder that is read again takes with it the faults below it, and no others', async () => {
  write('folders/a.txt', 'A text that can be read.');
  write('folders/sub/a.txt', 'Another one.');
  for (const file of ['b.txt', 'sub/b.txt', 'sub.txt']) symlinkSync('b.txt', path.join(root.folder, 'folders', file));
  const place = { connection: 'docs', config: { path: 'folders' } };
  const { body: source } = await call('POST', 'sources', { name: 'folders', bucket: 'default', ...place });
  await call('POST', `sources/${source.id}/sync`, {});
  await synced(source.id, 2);
  const faultsOf = async () =>
    (await call('GET', `sources/${source.id}/faults`)).body.map(({ key }: { key: string }) => key);
  expect(await faultsOf()).toEqual(expect.arrayContaining(['b.txt', 'sub.txt', 'sub/b.txt']));
  rmSync(path.join(root.folder, 'folders/sub/b.txt'));
  write('folders/sub/b.txt', 'It can be read now.');
  await call('POST', `sources/${source.id}/sync`, { entries: ['sub'] });
  await synced(source.id, 3);
  expect((await faultsOf()).toSorted()).toEqual(['b.txt', 'sub.txt']);
});
