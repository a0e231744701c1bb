import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts';
import { makeDataDir } from '../support/appliance.ts';
import { until } from '../support/until.ts';
import { runCommand, startService } from './service.ts';

// "documents sync" on an installation of its own with embedded PostgreSQL.
let server: EmbeddedPostgres;
let dataDir: ReturnType<typeof makeDataDir>;
let env: NodeJS.ProcessEnv;
let folder: string;
let bucket: string;

beforeAll(async () => {
  dataDir = makeDataDir();
  env = { SERVICE_DATA_DIR: dataDir.dataDir };
  server = await openEmbeddedPostgres({ dataDir: dataDir.dataDir, settings: { fsync: 'off' } });
  expect((await service('buckets', 'create', 'first')).code).toBe(0);
});
afterAll(async () => {
  await server?.release();
  dataDir.remove();
});

let buckets = 0;
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'sync-'));
  write('pump.md', '# Pump\n\nThe pump is greased every month.');
  write('deep/valve.md', '# Valve\n\nThe valve is brass.');
  write('.hidden.md', 'hidden');
  bucket = `sync-${++buckets}`;
  await service('buckets', 'create', bucket);
  return () => rmSync(folder, { recursive: true, force: true });
});

const service = (...args: string[]) => runCommand(args, env);
const sync = (...args: string[]) => service('documents', 'sync', folder, '--bucket', bucket, ...args);
function write(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), text);
}
async function paths(): Promise<string[]> {
  const { data } = (await service('documents', 'list', '--bucket', bucket, '--json')).json();
  return data.map((document: { source_path: string }) => document.source_path).toSorted();
}
const find = async (query: string): Promise<string[]> =>
  (await service('search', query, '--bucket', bucket, '--mode', 'keyword', '--json'))
    .json()
    .results.map((result: { text: string }) => result.text);

test('a folder is added, changed files are replaced, and documents of removed files go with --delete only', async () => {
  const dry = await sync('--dry-run', '--json');
  expect(dry.json()).toMatchObject({
    dry_run: true,
    counts: { added: 2, replaced: 0, deleted: 0, unchanged: 0, failed: 0, gone: 0 },
    data: [
      { source_path: 'deep/valve.md', action: 'add', status: 'planned' },
      { source_path: 'pump.md', action: 'add', status: 'planned' },
    ],
  });
  expect(await paths()).toEqual([]);

  const first = await sync();
  expect(first).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^2 added, 0 replaced, 0 deleted, 0 unchanged, 0 failed$/m),
  });
  expect(await paths()).toEqual(['deep/valve.md', 'pump.md']);

  const again = await sync('--json');
  expect(again.json()).toMatchObject({ data: [], counts: { unchanged: 2 } });

  write('pump.md', '# Pump\n\nThe pump is greased every week.');
  write('motor.md', '# Motor\n\nThe motor is new.');
  rmSync(path.join(folder, 'deep'), { recursive: true });
  const second = await sync('--json');
  expect(second.json()).toMatchObject({
    counts: { added: 1, replaced: 1, deleted: 0, unchanged: 0, failed: 0, gone: 1 },
    data: [
      {
        source_path: 'deep/valve.md',
        action: 'keep',
        status: 'file is gone',
        document_id: expect.stringMatching(/^doc_/),
      },
      { source_path: 'motor.md', action: 'add', status: 'ready' },
      { source_path: 'pump.md', action: 'replace', status: 'ready' },
    ],
  });
  expect(await find('pump greased')).toEqual([expect.stringContaining('every week')]);
  expect(await find('valve')).toHaveLength(1);

  expect(await sync('--delete')).toMatchObject({ code: 2, stderr: expect.stringContaining('Confirm with --yes') });
  const third = await sync('--delete', '--yes');
  expect(third).toMatchObject({ code: 0, stderr: expect.stringContaining('1 deleted') });
  expect(await find('valve')).toEqual([]);
  expect(await paths()).toEqual(['motor.md', 'pump.md']);
});

test('--delete of a folder without files is refused, unless --allow-empty is given', async () => {
  await sync();
  rmSync(path.join(folder, 'deep'), { recursive: true });
  // All files are left out.
  const ignored = await sync('--delete', '--yes', '--exclude', '**/*.md', '--json');
  expect(ignored).toMatchObject({ code: 4 });
  expect(ignored.json().error).toMatchObject({ code: 'folder_empty', message: expect.stringContaining('--exclude') });
  rmSync(path.join(folder, 'pump.md'));
  for (const more of [['--yes'], ['--dry-run'], ['--yes', '--watch']]) {
    const refused = await sync('--delete', ...more);
    expect(refused).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('all 2 documents') });
    expect(refused.stderr).toContain('add --allow-empty');
  }
  expect((await sync('--json')).json().counts).toMatchObject({ gone: 2, deleted: 0 });
  expect(await paths()).toEqual(['deep/valve.md', 'pump.md']);
  const dry = await sync('--delete', '--allow-empty', '--dry-run', '--json');
  expect(dry.json()).toMatchObject({ dry_run: true, counts: { deleted: 2 } });
  expect(await sync('--delete', '--allow-empty')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('This deletes 2 of 2 documents, whose files are gone'),
  });
  expect((await sync('--delete', '--allow-empty', '--yes', '--json')).json().counts).toMatchObject({ deleted: 2 });
  expect(await paths()).toEqual([]);
  expect(await sync('--delete', '--yes')).toMatchObject({ code: 0 });
});

test('an uploaded folder is recognised by its paths', async () => {
  expect((await service('documents', 'upload', folder, '--recursive', '--bucket', bucket)).code).toBe(0);
  expect((await sync('--json')).json()).toMatchObject({ data: [], counts: { unchanged: 2 } });
});

test('several folders share a bucket by their prefixes', async () => {
  await service('documents', 'upload', path.join(folder, 'pump.md'), '--bucket', bucket);
  expect((await sync('--prefix', 'east/', '--json')).json().counts).toMatchObject({ added: 2 });
  rmSync(path.join(folder, 'pump.md'));
  const deleted = await sync('--prefix', 'east', '--delete', '--yes', '--json');
  expect(deleted.json()).toMatchObject({ counts: { deleted: 1, unchanged: 1 } });
  expect(await paths()).toEqual(['east/deep/valve.md', 'pump.md']);
});

test('patterns choose the files', async () => {
  write('notes.txt', 'Notes.');
  expect((await sync('--include', '**/*.md', '--exclude', 'deep/**', '--json')).json().data).toEqual([
    expect.objectContaining({ source_path: 'pump.md', status: 'ready' }),
  ]);
});

test('files that cannot be read keep their documents and are reported', async () => {
  await sync();
  write('pump.md', '');
  write('broken.pdf', 'no PDF');
  const report = await sync('--delete', '--yes', '--json');
  expect(report).toMatchObject({ code: 4 });
  expect(report.json()).toMatchObject({ counts: { added: 0, deleted: 0, unchanged: 1, failed: 2 } });
  expect(await find('pump')).toHaveLength(1);
  // The broken file is not read again before it changes.
  write('pump.md', '# Pump\n\nThe pump is greased every month.');
  const again = await sync('--json');
  expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('could not be read before') });
  expect(again.json().counts).toMatchObject({ unchanged: 3, failed: 0 });
});

test('a folder that is not there is named, and nothing is deleted', async () => {
  await sync();
  const gone = await service('documents', 'sync', `${folder}-none`, '--bucket', bucket, '--delete', '--yes');
  expect(gone).toMatchObject({ code: 3, stderr: expect.stringContaining(`${folder}-none`) });
  expect(await paths()).toHaveLength(2);
  expect(await sync('--watch', '--json')).toMatchObject({ code: 2 });
  expect(await sync('--watch', '--dry-run')).toMatchObject({ code: 2 });
});

test('--watch synchronises after each change until Ctrl-C', async () => {
  const running = startService(['documents', 'sync', folder, '--bucket', bucket, '--watch'], env);
  await until(async () => running.output().stderr.includes('2 added'), {
    what: 'the first synchronisation',
    withinMs: 45_000,
  });
  write('deep/motor.md', '# Motor\n\nThe motor hums.');
  await until(async () => running.output().stderr.includes('1 added'), {
    what: 'the next synchronisation',
    withinMs: 45_000,
  });
  running.child.kill('SIGINT');
  expect((await running.finished).code).toBe(130);
  expect(await find('motor hums')).toHaveLength(1);
});
