import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts';
import { makeDataDir } from '../support/appliance.ts';
import { runCommand, runService } from './service.ts';

// Commands on documents by id, name, path and condition.
let server: EmbeddedPostgres;
let dataDir: ReturnType<typeof makeDataDir>;
let env: NodeJS.ProcessEnv;
let folder: string;
let ids: Record<string, string>;

beforeAll(async () => {
  dataDir = makeDataDir();
  env = { SERVICE_DATA_DIR: dataDir.dataDir };
  server = await openEmbeddedPostgres({ dataDir: dataDir.dataDir, settings: { fsync: 'off' } });
  folder = mkdtempSync(path.join(tmpdir(), 'commands-'));
  const files = {
    'pump.md': '# Pump\n\nThe pump is greased every month.',
    'a/valve.md': '# Valve\n\nThe valve in A is brass.',
    'b/valve.md': '# Valve\n\nThe valve in B is steel.',
    'broken.pdf': 'no PDF',
  };
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(folder, name);
    const { mkdirSync } = await import('node:fs');
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const upload = (await service('documents', 'upload', folder, '--recursive', '--json')).json();
  ids = Object.fromEntries(upload.data.map((each: { source_path: string; id: string }) => [each.source_path, each.id]));
});
afterAll(async () => {
  await server?.release();
  dataDir.remove();
  rmSync(folder, { recursive: true, force: true });
});

const service = (...args: string[]) => runCommand(args, env);
const documents = (...args: string[]) => service('documents', ...args);

test('a document is shown by its id, its path or its file name', async () => {
  for (const name of [ids['pump.md'] as string, 'pump.md']) {
    expect((await documents('show', name, '--json')).json()).toMatchObject({ id: ids['pump.md'], status: 'ready' });
  }
  expect((await documents('show', 'a/valve.md', '--json')).json()).toMatchObject({ id: ids['a/valve.md'] });
  const several = (await documents('show', 'a/valve.md', 'pump.md', '--json')).json();
  expect(several).toMatchObject({ object: 'list', data: [{ id: ids['a/valve.md'] }, { id: ids['pump.md'] }] });
});

test('a name of several documents, of none, and no name at all are refused with what to do', async () => {
  const ambiguous = await documents('show', 'valve.md');
  expect(ambiguous).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('several documents are named "valve.md"'),
  });
  expect(ambiguous.stderr).toContain('a/valve.md');
  expect(await documents('show', 'nothing.md')).toMatchObject({ code: 3 });
  expect(await documents('show')).toMatchObject({ code: 2, stderr: expect.stringContaining('--where') });
  expect(await documents('show', 'pump.md', '--where', 'id IS NOT NULL')).toMatchObject({ code: 2 });
  expect(await documents('show', '--where', 'file_nam = 1 AND')).toMatchObject({ code: 2 });
  expect(await documents('show', '--where', "team = 'none'")).toMatchObject({ code: 3 });
});

test('a condition selects documents, also by their path', async () => {
  const where = `source_path LIKE '%/valve.md'`;
  const { data } = (await documents('show', '--where', where, '--json')).json();
  expect(data.map((document: { source_path: string }) => document.source_path).toSorted()).toEqual([
    'a/valve.md',
    'b/valve.md',
  ]);
  const one = (await documents('show', '--where', "source_path = 'pump.md'", '--json')).json();
  expect(one).toMatchObject({ object: 'list', data: [{ id: ids['pump.md'] }], has_more: false });
  const select = `SELECT documents WHERE source_path = 'pump.md' OR source_path IS NULL`;
  const exec = (await service('metadata', 'exec', select, '--bucket', 'default', '--json')).json();
  expect(exec).toMatchObject({ matched: 1, items: [{ id: ids['pump.md'] }] });
});

test('text prints the extracted text, and names the documents if there are several', async () => {
  expect((await documents('text', 'pump.md')).stdout).toBe('Pump\n\nThe pump is greased every month.\n');
  const both = await documents('text', 'a/valve.md', 'b/valve.md');
  expect(both.stdout).toContain(`==> a/valve.md (${ids['a/valve.md']}) <==`);
  expect(both.stdout).toContain('steel');
  expect((await documents('text', 'pump.md', '--json')).json()).toMatchObject({
    ...{ id: ids['pump.md'], offset: 0, next_offset: null },
    text: expect.stringContaining('greased'),
  });
  expect(await documents('text', 'broken.pdf')).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('no text yet'),
  });
});

test('chunks lists the chunks with their places', async () => {
  const { data } = (await documents('chunks', 'pump.md', 'a/valve.md', '--json')).json();
  expect(data).toMatchObject([
    { document_id: ids['pump.md'], chunk_index: 0, place: 'Pump', text: expect.stringContaining('greased') },
    { document_id: ids['a/valve.md'], chunk_index: 0, place: 'Valve' },
  ]);
  expect((await documents('chunks', 'pump.md')).stdout).toMatch(/^CHUNK +PLACE +TOKENS +TEXT\n0 +Pump +\d+ /);
});

test('download saves one file, or several into a folder', async () => {
  const out = path.join(folder, 'saved.md');
  expect((await documents('download', 'pump.md', '--out', out)).code).toBe(0);
  expect(readFileSync(out, 'utf8')).toContain('greased');
  expect(await documents('download', 'pump.md', '--out', out)).toMatchObject({ code: 4 });
  const into = mkdtempSync(path.join(folder, 'out-'));
  const saved = await documents('download', 'pump.md', 'a/valve.md', '--out', into, '--json');
  expect(saved.json().data.map(({ file }: { file: string }) => path.relative(into, file))).toEqual([
    'pump.md',
    'valve.md',
  ]);
  expect(await documents('download', 'pump.md', 'a/valve.md', '--out', path.join(into, 'pump.md'))).toMatchObject({
    code: 4,
  });
  const printed = await runService(['documents', 'download', 'pump.md', '--out', '-'], env);
  expect(printed.stdout).toBe('# Pump\n\nThe pump is greased every month.');
});

test('list shows the newest job of each document and the reason of a failure', async () => {
  const { data } = (await documents('list', '--status', 'failed', '--json')).json();
  expect(data).toMatchObject([
    { file_name: 'broken.pdf', job_id: expect.stringMatching(/^job_/), error_message: expect.stringMatching(/\w/) },
  ]);
  const table = await documents('list', '--status', 'failed');
  expect(table.stdout).toContain(data[0].job_id);
  expect(table.stdout).toContain(data[0].error_message);
});

test('reprocess queues a new job of each document, and says why not', async () => {
  const first = await documents('reprocess', 'pump.md', 'broken.pdf', '--json');
  expect(first).toMatchObject({ code: 0 });
  expect(first.json().data).toMatchObject([{ id: ids['pump.md'], status: 'queued' }, { status: 'queued' }]);
  const again = await documents('reprocess', '--where', "file_name = 'pump.md'");
  expect(again).toMatchObject({ code: 4, stdout: expect.stringMatching(/refused .*the job is queued/) });
});

test('a document is read from stdin', async () => {
  const upload = await runService(
    ['documents', 'upload', '-', '--name', 'notes/piped.md', '--json'],
    env,
    '# Piped\n\nThe sluice is open.',
  );
  expect(upload).toMatchObject({ code: 0 });
  expect(upload.json().data).toMatchObject([{ source_path: 'notes/piped.md', status: 'ready' }]);
  expect((await documents('show', 'notes/piped.md', '--json')).json()).toMatchObject({ file_name: 'piped.md' });
  const empty = await runService(['documents', 'upload', '-', '--json'], env, '');
  expect(empty).toMatchObject({ code: 4 });
  expect(empty.json().data).toMatchObject([{ source_path: 'stdin', error: { category: 'empty_file' } }]);
});

test('embed reads the lines of stdin', async () => {
  const embed = await runService(['embed', '-', '--dimensions', '8', '--json'], env, 'one\ntwo\n');
  expect(embed).toMatchObject({ code: 0 });
  expect(embed.json().data.map(({ embedding }: { embedding: number[] }) => embedding.length)).toEqual([8, 8]);
  expect(await runService(['embed', '-', '--input-file', 'x'], env, '')).toMatchObject({ code: 2 });
});

test('a dry run lists the documents that would be deleted, and deletes nothing', async () => {
  const valves = ['delete', '--where', "file_name = 'valve.md'", '--dry-run'];
  const table = await documents(...valves);
  expect(table).toMatchObject({ code: 0, stderr: 'dry run: 2 documents would be deleted\n' });
  expect(table.stdout).toMatch(/^FILE +DOCUMENT +STATUS +CHUNKS\n/);
  for (const name of ['a/valve.md', 'b/valve.md']) {
    expect(table.stdout).toMatch(new RegExp(`^${name} +${ids[name]} +ready +1$`, 'm'));
  }
  const several = await documents(...valves, '--json');
  expect(several).toMatchObject({ code: 0 });
  expect(several.json()).toMatchObject({ object: 'list', dry_run: true, has_more: false });
  const fileName = 'valve.md';
  expect(several.json().data).toHaveLength(2);
  expect(several.json().data).toContainEqual({
    ...{ id: ids['a/valve.md'], source_path: 'a/valve.md', file_name: fileName, deleted: false },
  });
  // Also with --yes nothing is deleted.
  expect((await documents('delete', 'pump.md', '--dry-run', '--yes', '--json')).json()).toEqual({
    ...{ dry_run: true, id: ids['pump.md'], source_path: 'pump.md', file_name: 'pump.md', deleted: false },
  });
  expect(await documents('delete', 'nothing.md', '--dry-run')).toMatchObject({ code: 3 });
  for (const name of ['a/valve.md', 'b/valve.md', 'pump.md']) {
    expect(await documents('show', name)).toMatchObject({ code: 0 });
  }
});

test('documents are deleted by path and by condition after a confirmation', async () => {
  expect(await documents('delete', '--where', "file_name = 'valve.md'")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('This deletes 2 documents'),
  });
  const deleted = await documents('delete', '--where', "file_name = 'valve.md'", '--yes', '--json');
  expect(deleted.json().data).toHaveLength(2);
  expect(await documents('show', 'a/valve.md')).toMatchObject({ code: 3 });
  expect((await documents('delete', 'notes/piped.md', '--yes')).stdout).toContain('deleted notes/piped.md (doc_');
});
