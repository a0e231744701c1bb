import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts';
import { makeDataDir } from '../support/appliance.ts';
import { runCommand } from './service.ts';

// The short part of sync.long.test.ts and document-commands.long.test.ts.
let server: EmbeddedPostgres;
let dataDir: ReturnType<typeof makeDataDir>;
let folder: string;
beforeAll(async () => {
  dataDir = makeDataDir();
  server = await openEmbeddedPostgres({ dataDir: dataDir.dataDir, settings: { fsync: 'off' } });
  folder = mkdtempSync(path.join(tmpdir(), 'document-sync-'));
});
afterAll(async () => {
  await server?.release();
  dataDir.remove();
  rmSync(folder, { recursive: true, force: true });
});

test('a folder is synchronised, and its documents are read and deleted by their paths', async () => {
  const documents = (...args: string[]) => runCommand(['documents', ...args], { SERVICE_DATA_DIR: dataDir.dataDir });
  const write = (name: string, text: string) => writeFileSync(path.join(folder, name), text);
  write('pump.md', 'The pump is greased every month.');
  write('valve.md', 'The valve is brass.');
  expect((await documents('sync', folder)).stderr).toContain('2 added, 0 replaced, 0 deleted, 0 unchanged, 0 failed');
  write('pump.md', 'The pump is greased every week.');
  rmSync(path.join(folder, 'valve.md'));
  const report = await documents('sync', folder, '--delete', '--yes', '--json');
  expect(report.json().counts).toMatchObject({ added: 0, replaced: 1, deleted: 1, unchanged: 0, failed: 0, gone: 0 });
  expect((await documents('text', 'pump.md')).stdout).toBe('The pump is greased every week.\n');
  const where = `source_path = 'pump.md'`;
  expect((await documents('delete', '--where', where, '--yes')).stdout).toMatch(/^deleted pump\.md \(doc_\w+\)\n$/);
});

test('a folder whose names only changed their Unicode form needs nothing, and names that cannot be read are reported', async () => {
  const own = mkdtempSync(path.join(tmpdir(), 'document-forms-'));
  const sync = (...args: string[]) =>
    runCommand(['documents', 'sync', own, '--prefix', '항만'.normalize('NFD'), ...args], {
      SERVICE_DATA_DIR: dataDir.dataDir,
    });
  const name = '등대 일지.md';
  writeFileSync(path.join(own, name.normalize('NFC')), 'The lighthouse log.');
  expect((await sync()).stderr).toContain('1 added, 0 replaced');
  rmSync(path.join(own, name.normalize('NFC')));
  writeFileSync(path.join(own, name.normalize('NFD')), 'The lighthouse log.');
  writeFileSync(path.join(own, 'line\nbreak.md'), 'x');
  writeFileSync(
    Buffer.concat([Buffer.from(`${own}/`), Buffer.from([0xc7, 0xd1, 0xb1, 0xdb]), Buffer.from('.md')]),
    'x',
  );
  const report = (await sync('--delete', '--yes', '--dry-run', '--json')).json();
  expect(report.counts).toMatchObject({ added: 0, replaced: 0, deleted: 0, unchanged: 1, failed: 2 });
  expect(report.data.map(({ error }: { error: { message: string } }) => error.message).sort()).toEqual([
    'its name has a line break or another control character; rename it',
    'its name is not UTF-8; rename it',
  ]);
  writeFileSync(path.join(own, name.normalize('NFC')), 'Another log.');
  expect(JSON.stringify((await sync('--dry-run', '--json')).json())).toContain('the same name in another Unicode form');
  rmSync(own, { recursive: true, force: true });
});
