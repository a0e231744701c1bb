import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';

// Reading at a place of a document, and finding words in it.

let test: TestApi;
let key: string;
let id: string;
let otherId: string;

const FILLER = Array.from({ length: 150 }, (_, n) => `word${n}`).join(' ');
const section = (n: number) => `## Berth ${n}\n\nThe crane of berth ${n} lifts ${n * 3} tonnes. ${FILLER}.`;
const TEXT = [
  '# Harbour manual\n\nFor the crews of ferries.',
  ...Array.from({ length: 20 }, (_, n) => section(n)),
  '# Night\n\n## Signals\n\nA vessel shows a green lantern. The flag --no-entry means: keep off the pier.',
  '## Night signals of tugs\n\nTugs show two lanterns.',
].join('\n\n');

beforeAll(async () => {
  test = await openTestApi();
  key = await test.key({ scopes: ['search'], authLevel: 5 });
  const { idOf } = await ingestAll(test.appliance, test.operator, 'default', [
    { id: 'harbour', fileName: 'harbour.md', text: TEXT },
    { id: 'other', fileName: 'other.txt', text: '부두의 크레인은 밤에 움직이지 않는다. 예인선은 등불을 켠다.' },
  ]);
  const full = (wanted: string) => [...idOf].find(([, name]) => name === wanted)?.[0] as string;
  [id, otherId] = [full('harbour'), full('other')];
});
afterAll(() => test.close());

async function read(query: Record<string, string>, document = id) {
  const { status, body } = await test.call('GET', `/v1/documents/${document}/chunks?${new URLSearchParams(query)}`, {
    key,
  });
  return { status, body };
}
const textOf = (body: { chunks: { text: string }[] }) => body.chunks.map(({ text }) => text).join('\n');

it('chunks come with the name of the document, their number in it, and the page of the first one', async () => {
  const { body } = await read({ first: '2', count: '2' });
  expect(body).toMatchObject({ id, file_name: 'harbour.md', page_count: null });
  expect(body.chunks_count).toBeGreaterThan(20);
  expect(body.url).toBe(`${test.api.url}/console/documents/${id}#2`);
});

it('reading begins below a heading, below one that contains the words, or below a path of headings', async () => {
  const exact = await read({ heading: 'night', count: '1' });
  expect(exact.body.place).toMatchObject({ heading_path: ['Night'] });
  expect(textOf(exact.body)).toContain('green lantern');
  const contained = await read({ heading: 'signals of TUGS', count: '1' });
  expect(contained.body.place.heading_path).toEqual(['Night', 'Night signals of tugs']);
  const path = await read({ heading: 'Harbour manual > Berth 7', count: '1' });
  expect(textOf(path.body)).toContain('berth 7 lifts 21 tonnes');
  const missing = await read({ heading: 'Anchors' });
  expect([missing.status, missing.body.detail]).toEqual([404, expect.stringContaining('no heading "Anchors"')]);
});

it('reading begins at a character, with as many chunks before it as asked for', async () => {
  const { body } = await read({ first: '9', count: '1' });
  const { start } = body.chunks[0].locator;
  const around = await read({ offset: String(start + 100), before: '2', count: '4' });
  expect(around.body.place.start).toBe(start + 100);
  const indexes = around.body.chunks.map((chunk: { chunk_index: number }) => chunk.chunk_index);
  expect(indexes.map((index: number) => index - indexes[0])).toEqual([0, 1, 2, 3]);
  expect(indexes[2]).toBeGreaterThanOrEqual(8);
  const beyond = await read({ offset: '100000000' });
  expect([beyond.status, beyond.body.detail]).toEqual([404, expect.stringContaining('ends before')]);
  const page = await read({ page: '3' });
  expect([page.status, page.body.detail]).toEqual([404, expect.stringContaining('page 3')]);
});

it('finds words in any form, phrases as they are written, and options with their dashes', async () => {
  const words = await read({ find: 'lifting cranes 21' });
  expect(words.body.found).toEqual({ chunks: 1, complete: true });
  expect(words.body.chunks[0].locator.heading_path).toContain('Berth 7');
  const matched = words.body.chunks[0].highlights.flatMap((one: { parts: { text: string; match: boolean }[] }) =>
    one.parts.filter(({ match }) => match).map(({ text }) => text),
  );
  expect(matched).toEqual(expect.arrayContaining(['crane', 'lifts', '21']));
  const phrase = await read({ find: '"KEEP off  the pier"' });
  expect(phrase.body.chunks).toHaveLength(1);
  expect((await read({ find: '"off keep"' })).body).toMatchObject({
    chunks: [],
    found: { chunks: 0, complete: false },
  });
  const option = await read({ find: '--no-entry' });
  expect(textOf(option.body)).toContain('--no-entry means');
  expect((await read({ find: '예인선 등불' }, otherId)).body.found).toEqual({ chunks: 1, complete: true });
});

it('finds chunks with most of the words if none has all, and says so', async () => {
  const { body } = await read({ find: 'green lantern helicopter' });
  expect(body.found).toEqual({ chunks: 1, complete: false });
  expect(textOf(body)).toContain('green lantern');
});

it('finds more chunks than one answer has in the order of the document', async () => {
  const indexes: number[] = [];
  for (let first: number | null = 0; first !== null; ) {
    const { body }: { body: { chunks: { chunk_index: number }[]; next: number | null } } = await read({
      ...{ find: 'crane', first: String(first), count: '8' },
    });
    indexes.push(...body.chunks.map((chunk) => chunk.chunk_index));
    first = body.next;
  }
  expect(indexes).toHaveLength(20);
  expect(indexes).toEqual([...indexes].sort((a, b) => a - b));
});

it('refuses two places at once, and a place beside words', async () => {
  for (const query of [{ page: '1', first: '2' }, { find: 'crane', heading: 'Night' }, { find: ' ' }]) {
    expect([query, (await read(query)).status]).toEqual([query, 400]);
  }
});

it('documents are listed by their ids, without those that the caller may not see', async () => {
  const list = async (ids: string, own = key) => {
    const { status, body } = await test.call('GET', `/v1/documents?ids=${ids}`, { key: own });
    return [status, body.data?.map((document: { id: string }) => document.id).sort()];
  };
  expect(await list(`${id},${otherId},doc_missing`)).toEqual([200, [id, otherId].sort()]);
  expect(await list(id, await test.key({ org: 'elsewhere' }))).toEqual([200, []]);
  const { sql } = test.appliance;
  await sql`UPDATE documents SET privacy_level = 6 WHERE id = ${id}`;
  const hidden = [await list(id), (await read({ find: 'crane' })).status, (await read({ heading: 'Night' })).status];
  await sql`UPDATE documents SET privacy_level = 1 WHERE id = ${id}`;
  expect(hidden).toEqual([[200, []], 404, 404]);
  expect((await list('a,,b'))[0]).toBe(400);
  expect((await test.call('GET', `/v1/documents?ids=${id}&name=x`, { key })).status).toBe(400);
});
