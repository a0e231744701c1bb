import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listDocuments } from '../../src/documents/documents.ts';
import type { DocumentView } from '../../src/documents/schema.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { addSource, countIngestJobs, ended, makeFolder, sync, syncWorker } from '../support/memory.ts';
import { until } from '../support/until.ts';
import { checkWork, folderPlace } from './count-work.ts';

const NONE = { added: 0, changed: 0, removed: 0, renamed: 0, unchanged: 0, failed: 0 };
/** Time of files that a synchronisation takes to be settled. */
const LONG_AGO = new Date('2024-03-01T12:00:00Z');

let test: TestAppliance;
let worker: ReturnType<typeof syncWorker>;
const root = makeFolder();
const outside = makeFolder();

beforeAll(async () => {
  test = await openTestAppliance({ sources: { docs: { type: 'folder', root: root.folder } } });
  worker = syncWorker(test);
  await worker.start();
});
afterAll(async () => {
  await worker.stop();
  await test.close();
  root.remove();
  outside.remove();
});

function write(name: string, text: string, at = LONG_AGO): void {
  const file = path.join(root.folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  utimesSync(file, at, at);
}

async function documents(): Promise<DocumentView[]> {
  const { data } = await listDocuments(test.appliance.sql, test.operator, 'default', { limit: 200 } as never);
  return data;
}

it('a second synchronisation of a folder does exactly the work of what changed', async () => {
  const source = { name: 'many', connection: 'docs', config: { path: 'many' } };
  const sizes = { entries: 100, changed: 10, removed: 5, added: 5 };
  await checkWork(test, source, folderPlace(path.join(root.folder, 'many')), sizes);
});

it('a folder that shows none of its files, as one that is not mounted, loses no document', async () => {
  for (let nth = 0; nth < 2; nth++) write(`mounted/${nth}.txt`, `Text number ${nth} of a folder that is unmounted.`);
  const { id } = await addSource(test, { name: 'mounted', connection: 'docs', config: { path: 'mounted' } });
  expect((await sync(test, id)).counts).toMatchObject({ added: 2 });
  const mounted = path.join(root.folder, 'mounted');
  renameSync(mounted, `${root.folder}/elsewhere`);
  mkdirSync(mounted);
  const failed = await sync(test, id);
  expect(failed.sync_state).toBe('error');
  expect(failed.error_message).toContain('the source has no entries, and had 2 before');
  expect(failed.error_message).toContain('run: service sources sync mounted --allow-empty');
  rmSync(mounted, { recursive: true });
  renameSync(`${root.folder}/elsewhere`, mounted);
  expect(await sync(test, id)).toMatchObject({ sync_state: 'idle', counts: { ...NONE, unchanged: 2 } });
});

it('a folder that was emptied on purpose loses its documents if that is allowed, once', async () => {
  write('on-purpose/a.txt', 'The only file of a folder.');
  const { id } = await addSource(test, { name: 'on-purpose', connection: 'docs', config: { path: 'on-purpose' } });
  await sync(test, id);
  rmSync(path.join(root.folder, 'on-purpose/a.txt'));
  expect(await sync(test, id)).toMatchObject({ sync_state: 'error', counts: NONE });
  const emptied = { sync_state: 'idle', error_message: null, counts: { ...NONE, removed: 1 } };
  expect(await sync(test, id, { allow_empty: true })).toMatchObject(emptied);
  expect(await sync(test, id)).toMatchObject({ sync_state: 'idle', counts: NONE });
  write('on-purpose/a.txt', 'It is there again.');
  expect((await sync(test, id, { allow_empty: true })).counts).toEqual({ ...NONE, added: 1 });
  rmSync(path.join(root.folder, 'on-purpose/a.txt'));
  expect(await sync(test, id)).toMatchObject({ sync_state: 'error', counts: NONE });
});

it('a folder whose only file cannot be read names the file, and keeps its document', async () => {
  write('unreadable/a.txt', 'A file that becomes a link to itself.');
  const { id } = await addSource(test, { name: 'unreadable', connection: 'docs', config: { path: 'unreadable' } });
  await sync(test, id);
  const file = path.join(root.folder, 'unreadable/a.txt');
  rmSync(file);
  symlinkSync(file, file);
  expect(await sync(test, id)).toMatchObject({
    ...{ sync_state: 'idle', counts: { ...NONE, failed: 1 } },
    error_category: 'source_entries',
    error_message: '1 entry could not be read; a.txt: it cannot be read (ELOOP)',
  });
});

it('a renamed file is one change, keeps its document, and is not embedded', async () => {
  write('renames/before.txt', 'The text of a file that gets another name.');
  const { id } = await addSource(test, { name: 'renames', connection: 'docs', config: { path: 'renames' } });
  await sync(test, id);
  const jobs = await countIngestJobs(test.appliance.sql);
  const [before] = await documents();
  renameSync(path.join(root.folder, 'renames/before.txt'), path.join(root.folder, 'renames/after.txt'));
  expect((await sync(test, id)).counts).toEqual({ ...NONE, renamed: 1 });
  const [after] = await documents();
  expect(after).toMatchObject({ id: before?.id, file_name: 'after.txt', source_path: 'renames/after.txt' });
  expect(await countIngestJobs(test.appliance.sql)).toBe(jobs);
});

it('a document shows where it came from and when, and its job names the entry', async () => {
  write('facts/sub/a.txt', 'Facts.');
  const tags = ['team:legal', 'url:http://x/y'];
  const { id } = await addSource(test, { name: 'facts', connection: 'docs', config: { path: 'facts' }, tags });
  await sync(test, id);
  const [document] = await documents();
  expect(document).toMatchObject({
    source_path: 'facts/sub/a.txt',
    event_time: LONG_AGO.toISOString(),
    metadata: { source_kind: 'folder', source_connection_id: id, team: 'legal', url: 'http://x/y' },
  });
  const [job] = await test.appliance.sql`SELECT * FROM jobs WHERE document_id = ${document?.id as string}`;
  expect(job).toMatchObject({ processing_type: 'source_connector', source_entry_id: expect.stringMatching(/^ent_/) });
  const [own] = await test.appliance.sql`SELECT * FROM jobs WHERE kind = 'sync' AND source_entry_id = ${id}`;
  expect(own).toMatchObject({ processing_type: 'source_connector', status: 'ready' });
});

it('a file whose time changed, but not its content, is no work', async () => {
  write('touched/a.txt', 'The same text.');
  const { id } = await addSource(test, { name: 'touched', connection: 'docs', config: { path: 'touched' } });
  await sync(test, id);
  const jobs = await countIngestJobs(test.appliance.sql);
  write('touched/a.txt', 'The same text.', new Date('2025-01-01T00:00:00Z'));
  expect((await sync(test, id)).counts).toEqual({ ...NONE, unchanged: 1 });
  expect(await countIngestJobs(test.appliance.sql)).toBe(jobs);
  expect((await documents())[0]?.event_time).toBe('2025-01-01T00:00:00.000Z');
});

it('files of many batches whose times changed, but not their contents, are all counted', async () => {
  const files = Array.from({ length: 100 }, (_, nth) => [`batches/${nth}.txt`, `Text number ${nth}.`] as const);
  for (const [name, text] of files) write(name, text);
  const { id } = await addSource(test, { name: 'batches', connection: 'docs', config: { path: 'batches' } });
  expect((await sync(test, id)).counts).toEqual({ ...NONE, added: files.length });
  for (const [name, text] of files) write(name, text, new Date('2025-01-01T00:00:00Z'));
  expect((await sync(test, id)).counts).toEqual({ ...NONE, unchanged: files.length });
});

it('a file whose size and time are unchanged is not read', async () => {
  write('unread/a.txt', 'The old text.');
  const { id } = await addSource(test, { name: 'unread', connection: 'docs', config: { path: 'unread' } });
  await sync(test, id);
  const [before] = await test.appliance.sql`SELECT sha256 FROM source_entries WHERE source_id = ${id}`;
  write('unread/a.txt', 'The new text.');
  expect((await sync(test, id)).counts).toEqual({ ...NONE, unchanged: 1 });
  const [after] = await test.appliance.sql`SELECT sha256 FROM source_entries WHERE source_id = ${id}`;
  expect(after).toEqual(before);
});

it('include and exclude select files; hidden files need a pattern that names them', async () => {
  for (const name of ['a.md', 'b.txt', 'drafts/c.md', '.hidden/d.md', 'deep/er/e.md']) write(`globs/${name}`, name);
  const config = { path: 'globs', include: ['**/*.md'], exclude: ['drafts/**'] };
  const { id } = await addSource(test, { name: 'globs', connection: 'docs', config });
  expect((await sync(test, id)).counts.added).toBe(2);
  const hidden = { path: 'globs', include: ['**/.*/**'] };
  const other = await addSource(test, { name: 'hidden', connection: 'docs', config: hidden });
  expect((await sync(test, other.id)).counts.added).toBe(1);
});

it('links out of the root, links to folders, and the data directory are never read', async () => {
  writeFileSync(path.join(outside.folder, 'secret.txt'), 'A secret of this host.');
  write('links/real.txt', 'A real file.');
  write('links/sub/inner.txt', 'An inner file.');
  symlinkSync(path.join(outside.folder, 'secret.txt'), path.join(root.folder, 'links/file-out.txt'));
  symlinkSync(outside.folder, path.join(root.folder, 'links/folder-out'));
  symlinkSync(path.join(root.folder, 'links'), path.join(root.folder, 'links/sub/loop'));
  symlinkSync(path.join(root.folder, 'links/real.txt'), path.join(root.folder, 'links/inside.txt'));
  const { id } = await addSource(test, { name: 'links', connection: 'docs', config: { path: 'links' } });
  expect(await sync(test, id)).toMatchObject({ sync_state: 'idle', counts: { ...NONE, added: 3 } });

  symlinkSync(outside.folder, path.join(root.folder, 'way-out'));
  const out = await addSource(test, { name: 'out', connection: 'docs', config: { path: 'way-out' } });
  const refused = await sync(test, out.id);
  expect(refused).toMatchObject({
    sync_state: 'error',
    error_category: 'source_refused',
    error_message: expect.stringContaining('leads out'),
  });
  for (const config of [{ path: '../x' }, { path: '/etc' }, { path: 'a/../../b' }]) {
    await expect(addSource(test, { name: 'bad', connection: 'docs', config })).rejects.toMatchObject({ status: 400 });
  }
});

it('a folder that vanished is an error, and its documents stay', async () => {
  write('vanishing/a.txt', 'Good data.');
  const { id } = await addSource(test, { name: 'vanishing', connection: 'docs', config: { path: 'vanishing' } });
  await sync(test, id);
  const own = async () => (await documents()).filter(({ source_path: at }) => at === 'vanishing/a.txt').length;
  expect(await own()).toBe(1);
  renameSync(path.join(root.folder, 'vanishing'), path.join(outside.folder, 'vanishing'));
  const failed = await sync(test, id);
  expect(failed).toMatchObject({
    sync_state: 'error',
    error_category: 'source_missing',
    error_message: expect.stringContaining('ENOENT'),
  });
  expect(await own()).toBe(1);
  renameSync(path.join(outside.folder, 'vanishing'), path.join(root.folder, 'vanishing'));
  expect(await sync(test, id)).toMatchObject({ sync_state: 'idle', error_message: null, counts: { unchanged: 1 } });
});

it('an empty file makes no document, and an emptied one loses its document', async () => {
  write('empty/a.txt', '');
  write('empty/b.txt', 'Some text.');
  const { id } = await addSource(test, { name: 'empty', connection: 'docs', config: { path: 'empty' } });
  expect((await sync(test, id)).counts).toEqual({ ...NONE, added: 1 });
  const own = async () => (await documents()).filter(({ source_path: at }) => at === 'empty/b.txt').length;
  expect(await own()).toBe(1);
  write('empty/b.txt', '', new Date('2025-01-01T00:00:00Z'));
  expect((await sync(test, id)).counts).toMatchObject({ removed: 1 });
  expect(await own()).toBe(0);
  expect((await sync(test, id)).counts).toEqual({ ...NONE, unchanged: 2 });
});

it('versions: keep leaves the earlier version of a changed file', async () => {
  write('kept/a.txt', 'The first version.');
  const config = { path: 'kept' };
  const { id } = await addSource(test, { name: 'kept', connection: 'docs', config, versions: 'keep' });
  await sync(test, id);
  write('kept/a.txt', 'The second version.', new Date('2025-01-01T00:00:00Z'));
  expect((await sync(test, id)).counts).toEqual({ ...NONE, changed: 1 });
  const versions = (await documents()).filter(({ source_path: at }) => at === 'kept/a.txt');
  expect(versions.map((each) => each.event_time)).toEqual(['2025-01-01T00:00:00.000Z', LONG_AGO.toISOString()]);
  rmSync(path.join(root.folder, 'kept/a.txt'));
  expect((await sync(test, id, { allow_empty: true })).counts).toEqual({ ...NONE, removed: 1 });
  expect((await documents()).filter(({ source_path: at }) => at === 'kept/a.txt')).toEqual([]);
});

it('a change of a folder queues a synchronisation while the watcher runs', async () => {
  write('watched/a.txt', 'First.');
  const { id } = await addSource(test, { name: 'watched', connection: 'docs', config: { path: 'watched' } });
  const watcher = test.appliance.memory.watcher();
  await watcher.start(new AbortController().signal);
  let text = 0;
  // The watch begins a moment after the start.
  await until(
    async () => {
      write('watched/sub/b.txt', `Text ${text++}.`, new Date());
      const source = await ended(test, id);
      return source.counts.added + source.counts.changed > 0;
    },
    { withinMs: 120_000, everyMs: 200, what: 'a synchronisation after a change' },
  );
  await watcher.stop();
});
