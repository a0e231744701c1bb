import { expect, it, onTestFinished } from 'vitest';
import { openTestAppliance } from '../support/appliance.ts';
import { addSource, countIngestJobs, sync, syncWorker } from '../support/memory.ts';
import { startWebsite, type Website } from '../support/website.ts';

const NONE = { added: 0, changed: 0, removed: 0, renamed: 0, unchanged: 0, failed: 0 };
const page = (title: string, ...links: readonly string[]) =>
  `<title>${title}</title><p>The text of ${title}.</p>${links.map((link) => `<a href="${link}">x</a>`).join('')}`;

/** Open an installation with a source of a website. */
async function openSource(site: Website, config: Record<string, unknown> = {}) {
  const connection = { type: 'web', sites: [site.url], networks: ['127.0.0.1'], requests_per_second: 1_000 };
  const test = await openTestAppliance({ sources: { site: connection } });
  const worker = syncWorker(test);
  await worker.start();
  onTestFinished(async () => {
    await worker.stop();
    await test.close();
  });
  const { id } = await addSource(test, { name: 'site', connection: 'site', config });
  const { sql } = test.appliance;
  return {
    id,
    sync: (entries?: string[]) => sync(test, id, entries && { allow_empty: false, entries }),
    forgetNotes: () => sql`DELETE FROM source_states WHERE source_id = ${id}`,
    jobs: () => countIngestJobs(sql),
    documents: () => sql`SELECT * FROM documents WHERE source_id = ${id} AND status <> 'deleting' ORDER BY source_path`,
  };
}

it('a page that moves for good keeps its document, and one that is gone loses it', async () => {
  const site = await startWebsite({ '/': page('Start', '/old', '/b'), '/old': page('Tides'), '/b': page('Bearings') });
  const source = await openSource(site);
  expect((await source.sync()).counts).toEqual({ ...NONE, added: 3 });
  const before = await source.documents();
  expect(before.find((each) => each['file_name'] === 'Tides.html')).toMatchObject({
    source_path: `${site.url}old`,
    metadata: { source_kind: 'web', source_url: `${site.url}old`, source_connection_id: source.id },
  });
  site.pages.set('/new', page('Tides'));
  site.pages.set('/old', { status: 301, headers: { location: '/new' } });
  site.pages.set('/b', { status: 404 });
  expect((await source.sync()).counts).toEqual({ ...NONE, renamed: 1, removed: 1, unchanged: 1 });
  const moved = (await source.documents()).find((each) => each['source_path'] === `${site.url}new`);
  expect(moved?.['id']).toBe(before.find((each) => each['file_name'] === 'Tides.html')?.['id']);
  expect(moved?.['metadata']).toMatchObject({ source_url: `${site.url}new` });
  expect(await source.jobs()).toBe(3);
});

it('pages with long and odd addresses are documents, and an address that is too long is named', async () => {
  const long = `/${'%EA%B0%80'.repeat(100)}`;
  const tooLong = `/${'x'.repeat(1_100)}`;
  const odd = ['/a%20b', '/%E3%81%82?x=%00&y=1', '/100%25', '/a;b=1', '/%F0%9F%90%A6'];
  const site = await startWebsite({ '/': page('Start', long, tooLong, ...odd) });
  for (const each of [long, tooLong, ...odd]) site.pages.set(each, page('A\u0007 \u202eB'));
  const source = await openSource(site);
  const synced = await source.sync();
  expect(synced).toMatchObject({ sync_state: 'idle', counts: { added: 2 + odd.length, failed: 1 } });
  expect(synced.error_message).toMatch(/its name is longer than 1024 bytes/);
  expect((await source.sync()).counts).toMatchObject({ added: 0, unchanged: 2 + odd.length });
});

it('a site that asks for a login later keeps all documents, and says what to set', async () => {
  const site = await startWebsite({ '/': page('Start', '/a'), '/a': page('A') });
  const source = await openSource(site);
  expect((await source.sync()).counts).toEqual({ ...NONE, added: 2 });
  site.pages.set('/', { status: 401 });
  site.pages.set('/a', { status: 401 });
  expect(await source.sync()).toMatchObject({
    ...{ sync_state: 'error', error_category: 'source_refused' },
    error_message: expect.stringContaining('set headers or cookie of the connection in the settings'),
  });
  expect((await source.documents()).length).toBe(2);
});

it('a page that fails while it is synchronised alone keeps its document, even without notes of earlier crawls', async () => {
  const site = await startWebsite({ '/': page('Start', '/a', '/b'), '/a': page('A'), '/b': page('B') });
  const source = await openSource(site);
  await source.sync();
  const [{ key } = {}] = (await source.documents())
    .filter((each) => each['source_path'] === `${site.url}a`)
    .map((each) => ({ key: each['source_path'] as string }));
  await source.forgetNotes();
  site.pages.set('/a', { status: 500 });
  const synced = await source.sync([key as string]);
  expect(synced).toMatchObject({ counts: { removed: 0, failed: 1 }, error_category: 'source_entries' });
  expect(await source.documents()).toHaveLength(3);
});
