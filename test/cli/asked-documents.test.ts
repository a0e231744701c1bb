import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { runCommand, runService } from './service.ts';

// Commands on documents and jobs while a server runs. As in asked-server.test.ts, the database of the server cannot be
// found by a command, so whatever a command finds there, the server found for it.
let api: TestApi;
let asking: NodeJS.ProcessEnv;
let folder: string;
const service = (...args: string[]) => runCommand(args, asking);

beforeAll(async () => {
  api = await openTestApi({ settings: { limits: { upload_bytes: 2_000_000 } } });
  asking = { SERVICE_DATA_DIR: api.dataDir };
  folder = mkdtempSync(path.join(tmpdir(), 'asked-documents-'));
  writeFileSync(path.join(folder, 'pump.md'), '# Pump\n\nThe pump is greased every month.');
  writeFileSync(path.join(folder, 'valve.md'), '# Valve\n\nThe valve is brass.');
  const upload = await service('documents', 'upload', folder, '--metadata', 'team=it', '--json');
  expect(upload.json()).toMatchObject({ counts: { ready: 2, linked: 0, queued: 0, failed: 0 } });
});

afterAll(async () => {
  await api.close();
  rmSync(folder, { recursive: true, force: true });
});

test('uploaded files are documents of the server, with their metadata and their bytes', async () => {
  const rows = await api.appliance.sql`SELECT file_name, status FROM documents ORDER BY file_name`;
  expect(rows.map((row) => [row['file_name'], row['status']])).toEqual([
    ['pump.md', 'ready'],
    ['valve.md', 'ready'],
  ]);
  const [shown] = (
    await service('documents', 'show', '--where', "team = 'it' AND file_name = 'pump.md'", '--json')
  ).json().data;
  expect(shown).toMatchObject({ source_path: 'pump.md', metadata: { team: 'it' } });
  const out = path.join(folder, 'saved.bin');
  const saved = await service('documents', 'download', 'pump.md', '--out', out, '--json');
  expect(saved.json()).toMatchObject({ id: shown.id, file: out, media_type: 'text/markdown' });
  expect(readFileSync(out)).toEqual(readFileSync(path.join(folder, 'pump.md')));
  const ofJob = await service('jobs', 'download', shown.job_id, '--out', out, '--force');
  expect(ofJob.stdout).toBe(`saved ${out} (40 bytes)\n`);
  expect(await service('documents', 'download', 'nothing.md', '--out', out)).toMatchObject({ code: 3 });
});

test('the server lists and reads documents, and names a wrong flag', async () => {
  const first = (await service('documents', 'list', '--limit', '1', '--json')).json();
  expect(first).toMatchObject({ object: 'list', has_more: true, data: [{ file_name: expect.any(String) }] });
  expect(await service('documents', 'list', '--status', 'gone')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--status'),
  });
  expect((await service('documents', 'text', 'pump.md')).stdout).toBe('Pump\n\nThe pump is greased every month.\n');
  const { data } = (await service('documents', 'chunks', 'pump.md', 'valve.md', '--json')).json();
  expect(data).toMatchObject([{ place: 'Pump' }, { place: 'Valve', text: expect.stringContaining('brass') }]);
});

test('stdin is uploaded to the server, and bytes beyond the bound are refused there', async () => {
  const upload = (input: string) =>
    runService(['documents', 'upload', '-', '--name', 'notes/piped.md', '--json'], asking, input);
  const finished = await upload('The lighthouse was built in 1811.');
  expect(finished.json().data).toMatchObject([{ source_path: 'notes/piped.md', status: 'ready' }]);
  const large = await upload('x'.repeat(2_000_001));
  expect(large).toMatchObject({ code: 4 });
  expect(large.json().data).toMatchObject([{ status: 'failed', error: { category: 'too_large' } }]);
  const again = (await service('documents', 'reprocess', 'notes/piped.md', '--json')).json();
  expect(again.data).toMatchObject([{ file: 'notes/piped.md', status: 'queued' }]);
  expect(await service('jobs', 'watch', '--until-done')).toMatchObject({ code: 0 });
  const deleted = await service('documents', 'delete', 'notes/piped.md', '--yes', '--json');
  expect(deleted.json()).toEqual({ id: finished.json().data[0].id, deleted: true });
  const [row] = await api.appliance.sql`
    SELECT count(*)::int AS n FROM documents WHERE file_name = 'piped.md' AND status <> 'deleting'`;
  expect(row?.['n']).toBe(0);
});

test('a folder is synchronised through the server, and vanished files are deleted there', async () => {
  const synced = mkdtempSync(path.join(tmpdir(), 'asked-sync-'));
  const sync = async (...args: string[]) =>
    (await service('documents', 'sync', synced, '--prefix', 'synced', ...args, '--json')).json();
  try {
    writeFileSync(path.join(synced, 'kept.md'), 'The anchor is kept.');
    writeFileSync(path.join(synced, 'changed.md'), 'The rudder is old.');
    writeFileSync(path.join(synced, 'gone.md'), 'The mast is gone.');
    expect((await sync('--dry-run')).counts).toMatchObject({ added: 3 });
    expect((await sync()).counts).toMatchObject({ added: 3, replaced: 0, deleted: 0, unchanged: 0, failed: 0 });
    writeFileSync(path.join(synced, 'changed.md'), 'The rudder is new.');
    rmSync(path.join(synced, 'gone.md'));
    const { counts, data } = await sync('--delete', '--yes');
    expect(counts).toEqual({ added: 0, replaced: 1, deleted: 1, unchanged: 1, gone: 0, failed: 0 });
    expect(data.map((file: { source_path: string; status: string }) => [file.source_path, file.status])).toEqual([
      ['synced/changed.md', 'ready'],
      ['synced/gone.md', 'deleted'],
    ]);
    expect((await service('documents', 'text', 'synced/changed.md')).stdout).toBe('The rudder is new.\n');
    expect(await service('documents', 'sync', synced, '--bucket', 'nowhere')).toMatchObject({ code: 3 });
    expect(await service('documents', 'sync', api.dataDir)).toMatchObject({
      stderr: expect.stringContaining('inside the data directory'),
    });
  } finally {
    rmSync(synced, { recursive: true, force: true });
    await service('documents', 'delete', '--where', "source_path = 'synced/kept.md'", '--yes');
    await service('documents', 'delete', '--where', "source_path = 'synced/changed.md'", '--yes');
  }
});

test('an index is rebuilt by the server, which reports its progress and its refusals', async () => {
  const rebuilt = await service('index', 'rebuild', '--bucket', 'default', '--json');
  expect(rebuilt).toMatchObject({ code: 0, stderr: expect.stringMatching(/^indexing chunks \d+$/m) });
  const [row] = await api.appliance.sql`
    SELECT count(*)::int AS n FROM documents WHERE status = 'ready' AND chunks_count > 0`;
  expect(rebuilt.json()).toMatchObject({ documents: row?.['n'], left_out: [] });
  const shown = await service('index', 'rebuild', '--bucket', 'default');
  expect(shown.stdout).toMatch(/^indexed \d+ chunks of \d+ documents\n$/);
  expect(await service('index', 'rebuild', '--bucket', 'nowhere')).toMatchObject({ code: 3 });
  expect(await service('buckets', 'create', 'empty')).toMatchObject({ code: 0 });
  const refused = await service('index', 'rebuild', '--bucket', 'empty', '--json');
  expect(refused).toMatchObject({ code: 4 });
  expect(refused.json().error).toMatchObject({ code: 'index_empty' });
});

test('jobs are watched through the server', async () => {
  const snapshot = (await service('jobs', 'watch', '--json')).json();
  expect(snapshot).toMatchObject({ object: 'jobs_snapshot', sequence: 1, live: 0 });
  expect(snapshot.counts.ready).toBeGreaterThanOrEqual(2);
  const failed = await service('jobs', 'watch', '--bucket', 'nowhere');
  expect(failed).toMatchObject({ code: 3 });
  expect(await service('jobs', 'watch', '--kind', 'sing')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--kind'),
  });
});

test('a bulk job is awaited and its vectors are written through the server', async () => {
  const [texts, out] = [path.join(folder, 'texts.txt'), path.join(folder, 'vectors.npy')];
  writeFileSync(texts, 'a sunny day\na rainy day\n');
  const worker = api.appliance.jobs.worker('embed');
  await worker.start(new AbortController().signal);
  try {
    const finished = await service('bulk', 'submit', texts, '--wait', '--out', out, '--dimensions', '64', '--json');
    expect(finished).toMatchObject({ code: 0, stderr: expect.stringContaining('vectors are in') });
    expect(readFileSync(out).toString('latin1', 10, 80)).toContain("'shape': (2, 64)");
    const lines = path.join(folder, 'vectors.jsonl');
    expect(await service('bulk', 'result', finished.json().id, '--out', lines)).toMatchObject({ code: 0 });
    const [first, second] = readFileSync(lines, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect([first.index, first.embedding.length, second.index]).toEqual([0, 64, 1]);
    const bytes = readFileSync(out).subarray(-2 * 64 * 4);
    expect(first.embedding.map(Math.fround)).toEqual([...new Float32Array(Uint8Array.from(bytes).buffer, 0, 64)]);
  } finally {
    await worker.stop();
  }
});
