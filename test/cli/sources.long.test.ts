import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { runCommand } from './service.ts';

// Commands are slow on a busy machine, and each test runs several.
vi.setConfig({ testTimeout: 120_000 });

let installation: TestAppliance;
let env: NodeJS.ProcessEnv;
const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'service-source-')));

beforeAll(async () => {
  installation = await openTestAppliance();
  const sources = { docs: { type: 'folder', root } };
  writeFileSync(path.join(installation.dataDir, 'service.yaml'), JSON.stringify({ sources, source_roots: [root] }));
  env = { SERVICE_DATA_DIR: installation.dataDir, DATABASE_URL: installation.databaseUrl };
});
afterAll(async () => {
  await installation.close();
  rmSync(root, { recursive: true, force: true });
});

const sources = (...args: string[]) => runCommand(['sources', ...args], env);

test('a source is added, synchronised without a server, listed, shown and removed', async () => {
  mkdirSync(path.join(root, 'handbook'));
  writeFileSync(path.join(root, 'handbook/a.md'), 'A page about anchors.');
  writeFileSync(path.join(root, 'handbook/b.txt'), 'Left out.');
  const flags = ['--connection', 'docs', '--path', 'handbook', '--include', '**/*.md', '--tag', 'team:legal'];
  const added = await sources('add', 'handbook', ...flags, '--schedule', '0 * * * *', '--json');
  expect(added).toMatchObject({ code: 0, stderr: '' });
  expect(added.json()).toMatchObject({
    ...{ name: 'handbook', type: 'folder', sync_state: 'idle', tags: ['team:legal'], schedule: '0 * * * *' },
    config: { path: 'handbook', include: ['**/*.md'] },
  });
  const synced = await sources('sync', 'handbook');
  expect(synced).toMatchObject({ code: 0, stdout: expect.stringContaining('handbook: 1 added, 0 changed, 0 removed') });
  const found = await runCommand(['search', 'anchors', '--json'], env);
  expect(found.json().results).toHaveLength(1);
  const listed = await sources('list', '--json');
  expect(listed.json()).toMatchObject([{ name: 'handbook', indexed_document_count: 1, error_message: null }]);
  expect((await sources('show', 'handbook')).stdout).toContain('last_synced_at');
  renameSync(path.join(root, 'handbook/a.md'), path.join(root, 'handbook/a.txt'));
  const emptied = await sources('sync', 'handbook');
  expect(emptied).toMatchObject({ code: 4, stderr: expect.stringContaining('sources sync handbook --allow-empty') });
  const allowed = await sources('sync', 'handbook', '--allow-empty');
  expect(allowed).toMatchObject({ code: 0, stdout: expect.stringContaining('0 added, 0 changed, 1 removed') });
  renameSync(path.join(root, 'handbook/a.txt'), path.join(root, 'handbook/a.md'));
  expect((await sources('sync', 'handbook')).stdout).toContain('1 added');
  expect(await sources('remove', 'handbook')).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
  const removed = await sources('remove', 'handbook', '--yes', '--json');
  expect(removed.json()).toMatchObject({ deleted: true, documents: 1 });
  expect((await runCommand(['search', 'anchors', '--json'], env)).json().results).toEqual([]);
});

test('commands on sources say what is wrong and set the exit code', async () => {
  expect(await sources('show', 'nowhere')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('source not found'),
  });
  expect(await sources('add', 'x', '--connection', 'elsewhere')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('it has docs'),
  });
  expect(await sources('add', 'x', '--connection', 'docs', '--table', 't')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('settings of connection docs: Unrecognized key: "table"'),
  });
  expect(await sources('add', 'x', '--connection', 'docs', '--schedule', '0 0 31 2 *')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--schedule: never fires'),
  });
  await sources('add', 'gone', '--connection', 'docs', '--path', 'gone');
  const failed = await sources('sync', 'gone');
  expect(failed).toMatchObject({ code: 4, stderr: expect.stringContaining('check that it exists') });
  const queued = await sources('sync', 'gone', '--no-wait', '--json');
  expect(queued.json()).toMatchObject({ job_id: expect.stringMatching(/^job_/), status: 'queued' });
});

test('a source is tested before it reads anything, changed, paused and resumed', async () => {
  mkdirSync(path.join(root, 'plans/drafts'), { recursive: true });
  writeFileSync(path.join(root, 'plans/a.txt'), 'A plan of the harbour.');
  // A file that has just been written is read again, since it may still change.
  utimesSync(path.join(root, 'plans/a.txt'), 0, 0);
  writeFileSync(path.join(root, 'plans/drafts/b.txt'), 'A draft of the harbour.');
  const tested = await sources('test', '--connection', 'docs', '--path', 'plans');
  expect(tested).toMatchObject({ code: 0, stdout: expect.stringContaining('2 entries, 45 bytes') });
  expect(tested.stdout).toMatch(/roughly 12 tokens in 2 chunks, \$0\.00/);
  await sources('add', 'plans', '--connection', 'docs', '--path', 'plans');
  await sources('sync', 'plans');
  expect((await sources('change', 'plans', '--path', 'plans', '--exclude', 'drafts/**')).code).toBe(0);
  expect((await sources('test', 'plans')).stdout).toContain('would add 0, read 0 again, remove 1 and leave 1');
  expect((await sources('pause', 'plans')).stdout).toContain('sources resume plans');
  expect(await sources('sync', 'plans')).toMatchObject({ code: 4, stderr: expect.stringContaining('is paused') });
  const typed = await runCommand(['sources', 'sync', 'plans'], { ...env, SERVICE_COMMAND_PATH: 'bin/service' });
  expect(typed.stderr).toContain('resume it first: bin/service sources resume plans');
  expect((await sources('resume', 'plans')).code).toBe(0);
  expect((await sources('sync', 'plans')).stdout).toContain('1 removed');
  expect(await sources('change', 'plans')).toMatchObject({ code: 2, stderr: expect.stringContaining('--schedule') });
  expect(await sources('test')).toMatchObject({ code: 2, stderr: expect.stringContaining('--connection') });
});

test('entries that cannot be read are shown with their reason', async () => {
  mkdirSync(path.join(root, 'broken'));
  writeFileSync(path.join(root, 'broken/a.txt'), 'A text.');
  symlinkSync('b.txt', path.join(root, 'broken/b.txt'));
  await sources('add', 'broken', '--connection', 'docs', '--path', 'broken');
  expect((await sources('sync', 'broken')).stderr).toContain('sources faults broken');
  expect((await sources('show', 'broken')).stdout).toContain('b.txt: it cannot be read (ELOOP)');
  const faults = await sources('faults', 'broken');
  expect(faults).toMatchObject({ code: 0, stdout: expect.stringContaining('it cannot be read (ELOOP)') });
  expect(faults.stderr).toContain("sources sync broken --entry 'b.txt'");
});
