import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadTokenizer } from '../../src/models/tokenizers.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { makePdf, sampleParagraph } from '../support/sample-files.ts';
import { connectHttp, INITIALIZE, post, REVISIONS, startToolServer, textOf } from './support.ts';

// Reading on after a search: around a result, at a place, by words, and within a budget of tokens.

let test: TestApi;
let env: Record<string, string>;
let manualId: string;

// Sections with the same words would be near-duplicates, which a search leaves out.
const filler = (n: number) => Array.from({ length: 90 }, (_, at) => `word${n}x${at}`).join(' ');
const berth = (n: number) => `## Berth ${n}\n\nThe crane of berth ${n} lifts ${n * 3} tonnes. ${filler(n)}.`;
const MANUAL = [
  '# Harbour manual\n\nFor the crews of ferries.',
  ...Array.from({ length: 20 }, (_, n) => berth(n)),
  '# Night\n\n## Signals\n\nA vessel shows a green lantern. The flag --no-entry means: keep off the pier.',
  '# Storm\n\nIn a storm, the harbour is closed.',
].join('\n\n');

beforeAll(async () => {
  test = await openTestApi();
  const key = await test.key({ scopes: ['search', 'documents:write'], authLevel: 5 });
  env = { SERVICE_API_BASE_URL: test.api.url, SERVICE_API_KEY: key };
  const { idOf } = await ingestAll(test.appliance, test.operator, 'default', [
    { id: 'manual', fileName: 'manual.md', text: MANUAL },
    { id: 'tides', fileName: 'tides.txt', text: 'The crane at the tide gauge was removed.' },
  ]);
  [manualId = ''] = [...idOf].find(([, name]) => name === 'manual') ?? [];
});
afterAll(() => test.close());

type Structured = Record<string, unknown> & {
  results: { id: string; document_id: string; chunk_index: number; text: string }[];
  passages: { id: string; text: string; passage: number }[];
  text: string;
  start: number;
  end: number;
  next_offset: number | null;
};

async function open(revision: (typeof REVISIONS)[number] = '2026-07-28') {
  const client = await connectHttp((await startToolServer(env)).url, revision);
  return { client, ...callsOf(client) };
}

function callsOf(client: Client) {
  const call = async (name: string, args: Record<string, unknown>) => {
    const result = await client.callTool({ name, arguments: args });
    expect([name, args, result.isError === true ? textOf(result) : null]).toEqual([name, args, null]);
    return { result, text: textOf(result), structured: result.structuredContent as Structured };
  };
  return {
    refused: async (name: string, args: Record<string, unknown>) => {
      const result = await client.callTool({ name, arguments: args });
      expect(result.isError).toBe(true);
      return textOf(result);
    },
    search: (args: Record<string, unknown>) => call('service_search', args),
    read: (args: Record<string, unknown>) => call('service_read_document', args),
    find: (args: Record<string, unknown>) => call('service_find_in_document', args),
  };
}

describe.each(REVISIONS)('in revision %s', (revision) => {
  it('a result names its document, headings and place, and the text around it is read by its short id', async () => {
    const { search, read } = await open(revision);
    const { text, structured } = await search({ query: 'crane of berth 7', top_k: 1 });
    expect(text).toMatch(/^\[r1\] manual\.md \| Harbour manual > Berth 7 \| passage \d+ of \d+ \| .*$/m);
    expect(structured.results[0]).toMatchObject({
      ...{ id: 'r1', document_id: manualId, chunks_count: expect.any(Number) },
      citation: { file_name: 'manual.md', locator: { heading_path: ['Harbour manual', 'Berth 7'] } },
    });
    const around = await read({ id: 'r1', max_tokens: 3000 });
    expect(around.text).toMatch(/^BEGIN UNTRUSTED (\w+)\nmanual\.md \| passages .*\nEND UNTRUSTED \1\n/s);
    for (const n of [6, 7, 8]) expect(around.text).toContain(`The crane of berth ${n} lifts`);
    expect(around.text).toContain('[Harbour manual > Berth 8]');
    expect(around.text).toMatch(/Note: earlier text: id "r1", offset \d+, direction "before"/);
    expect(around.text).toMatch(/Note: more text: id "r1", offset \d+/);
  });

  it('results link to their documents once each, beside the text', async () => {
    const { search, read } = await open(revision);
    const { result } = await search({ query: 'crane', top_k: 5 });
    const links = (result.content as { type: string; name?: string; uri?: string; mimeType?: string }[]).slice(1);
    expect(links.map(({ type, name }) => [type, name]).sort()).toEqual([
      ['resource_link', 'manual.md'],
      ['resource_link', 'tides.txt'],
    ]);
    for (const { uri } of links) expect((await fetch(uri ?? '')).status).toBe(200);
    const { result: own } = await read({ id: manualId });
    expect(own.content).toMatchObject([{ type: 'text' }, { type: 'resource_link', name: 'manual.md' }]);
  });

  it('a second search leaves out the passages that were shown or read, if it is asked to', async () => {
    const { search, read } = await open(revision);
    const query = 'crane lifts tonnes';
    const idsOf = (structured: Structured) =>
      structured.results.map(({ document_id, chunk_index }) => `${document_id} ${chunk_index}`);
    const first = await search({ query, top_k: 4 });
    const again = await search({ query, top_k: 4 });
    expect(again.structured.results).toEqual(first.structured.results);
    await read({ id: manualId, section: 'Berth 15' });
    const second = await search({ query, top_k: 30, max_tokens: 30_000, exclude_seen: true });
    expect(second.structured['seen_left_out']).toBeGreaterThanOrEqual(4);
    expect(second.text).toMatch(/Note: passages left out because you have seen them: \d+/);
    expect(idsOf(second.structured).filter((id) => idsOf(first.structured).includes(id))).toEqual([]);
    expect(second.text).not.toContain('The crane of berth 15 lifts');
  });
});

it('full ids of results are accepted like short ones', async () => {
  const { client, read } = await open();
  const found = await client.callTool({ name: 'search', arguments: { query: 'crane of berth 7' } });
  const [result] = (found.structuredContent as Structured).results;
  const around = await read({ id: result?.id, direction: 'around' });
  expect(around.text).toContain('The crane of berth 7 lifts 21 tonnes.');
  const fetched = await client.callTool({ name: 'fetch', arguments: { id: 'r1' } });
  expect(fetched.structuredContent).toMatchObject({ id: result?.id });
});

it('clients of a revision without links in results get the text alone', async () => {
  const { url } = await startToolServer(env);
  const { params } = INITIALIZE;
  const opened = await post(url, { ...INITIALIZE, params: { ...params, protocolVersion: '2025-03-26' } });
  const headers = { 'Mcp-Session-Id': opened.headers.get('mcp-session-id') as string, Accept: 'application/json' };
  const call = { name: 'service_search', arguments: { query: 'crane' } };
  const reply = await post(url, { jsonrpc: '2.0', id: 2, method: 'tools/call', params: call }, { headers });
  const body = await reply.text();
  expect(body).toContain('[r1] ');
  expect(body).not.toContain('resource_link');
});

it('a document is read from its start to its end by the offsets that the answers name', async () => {
  const { read } = await open();
  let whole = '';
  for (let offset: number | null = 0; offset !== null; ) {
    const { structured }: { structured: Structured } = await read({ id: manualId, offset, max_tokens: 700 });
    expect(structured.start).toBe(offset);
    whole += ` ${structured.text.replace(/^\[.*\]$/gm, '')}`;
    offset = structured.next_offset;
  }
  const words = (text: string) => text.split(/\s+/).filter((word) => word !== '' && !/^#+$/.test(word));
  expect(words(whole)).toEqual(words(MANUAL));
});

it('a page is read by its number, and the answer names the pages that it shows', async () => {
  const { client, read, search } = await open();
  const pages = ['albatross', 'bittern', 'curlew'].map((bird) => ({
    heading: `The ${bird}`,
    paragraphs: [sampleParagraph(bird)],
  }));
  const content_base64 = (await makePdf(pages)).toString('base64');
  const upload = { filename: 'birds.pdf', content_base64, wait_seconds: 120 };
  const uploaded = await client.callTool({ name: 'service_upload_document', arguments: upload });
  expect(uploaded.structuredContent).toMatchObject({ status: 'ready' });
  const { id } = uploaded.structuredContent as { id: string };
  const { text, structured } = await read({ id, page: 2 });
  expect(structured).toMatchObject({ document_id: id, page_count: 3 });
  expect(structured.text).toMatch(/^\[page 2 \| The bittern\]\n/);
  expect(structured.text).toContain('[page 3 | The curlew]');
  expect(text).not.toContain('albatross');
  expect((await search({ query: 'curlew' })).text).toMatch(/birds\.pdf \| page 3 \| The curlew \| passage 3 of 3/);
});

it('rows from within a table are read with the names of its columns', async () => {
  const { client, read, search } = await open();
  const rows = Array.from({ length: 400 }, (_, n) => `gull ${n},${n * 7},islet ${n}`);
  const upload = { filename: 'gulls.csv', text: ['name,eggs,place', ...rows].join('\n'), wait_seconds: 120 };
  const uploaded = await client.callTool({ name: 'service_upload_document', arguments: upload });
  expect(uploaded.structuredContent).toMatchObject({ status: 'ready' });
  const { structured } = await search({ query: 'gull 311 islet 311', top_k: 1 });
  const { text } = await read({ id: structured.results[0]?.id, max_tokens: 500 });
  expect(text).toContain('islet 311');
  expect(text).toMatch(/^\[.*columns: .*eggs.*\]$/m);
});

it('text before a place ends exactly there', async () => {
  const { read } = await open();
  const after = await read({ id: manualId, section: 'Berth 9', direction: 'after' });
  const before = await read({ id: manualId, offset: after.structured.start, direction: 'before', max_tokens: 600 });
  expect(before.structured.end).toBe(after.structured.start);
  expect(before.text).toContain('[Harbour manual > Berth 8]');
  expect(before.text).not.toContain('berth 9');
});

it('a section is read to its end and not beyond, with its own sections', async () => {
  const { read } = await open();
  const { text, structured } = await read({ id: manualId, section: 'night' });
  expect(structured.text).toContain('green lantern');
  expect(structured.text).not.toContain('storm');
  expect(text).toMatch(/Note: after this section: id "\w+", offset \d+/);
  const last = await read({ id: manualId, section: 'Storm' });
  expect(last.text).toContain('Note: the document ends here');
});

it('words and phrases are found with their places, and a found passage is read by its id', async () => {
  const { find, read } = await open();
  const { text, structured } = await find({ id: manualId, find: '"keep off" lanterns' });
  expect(structured).toMatchObject({ found: 1, complete: true });
  expect(text).toMatch(/^\[r1\] passage \d+ \| Night > Signals$/m);
  expect(text).toContain('**keep off**');
  expect((await read({ id: 'r1' })).text).toContain('green lantern');
  const nothing = await find({ id: 'r1', find: '"off keep"' });
  expect(nothing.text).toMatch(/^Nothing was found\. .*service_search/);
  const some = await find({ id: manualId, find: 'green lantern helicopter' });
  expect(some.text).toContain('Note: no passage has all of the words');
});

it('found passages beyond the budget are got by the number that the answer names', async () => {
  const { find } = await open();
  const passages: number[] = [];
  for (let from: number | null = 1; from !== null; ) {
    const { structured }: { structured: Structured } = await find({
      ...{ id: manualId, find: 'crane', from_passage: from, max_tokens: 500 },
    });
    passages.push(...structured.passages.map(({ passage }) => passage));
    from = structured['next_passage'] as number | null;
  }
  expect(passages).toHaveLength(20);
  expect(passages).toEqual([...new Set(passages)].sort((a, b) => a - b));
});

describe('answers fit into their budgets of tokens', () => {
  it.each([400, 900, 2500])('an answer of at most %i tokens, as text and as a structure', async (max_tokens) => {
    const count = await loadTokenizer({ kind: 'cl100k' });
    const { search, read, find } = await open();
    const answers = [
      await search({ query: 'crane of a berth', top_k: 20, max_tokens }),
      await read({ id: manualId, max_tokens }),
      await read({ id: manualId, section: 'Berth 5', direction: 'around', max_tokens }),
      await read({ id: 'r1', max_tokens }),
      await find({ id: manualId, find: 'crane', max_tokens }),
    ];
    for (const { result, structured } of answers) {
      const sizes = [JSON.stringify(result.content), JSON.stringify(structured)].map((text) => count(text, 1e6));
      expect(Math.max(...sizes)).toBeLessThanOrEqual(max_tokens);
      expect(sizes[0]).toBeGreaterThan(max_tokens / 5);
    }
  });

  it('a search says how many results it left out, and the next one shows them', async () => {
    const { search } = await open();
    const query = 'crane lifts tonnes';
    const { text, structured } = await search({ query, top_k: 8, max_tokens: 2500 });
    const leftOut = structured['left_out'] as number;
    expect(structured.results.length + leftOut).toBe(8);
    expect(text).toMatch(new RegExp(`Note: results that do not fit: ${leftOut}; call again with exclude_seen: true`));
    const rest = await search({ query, top_k: leftOut, max_tokens: 20_000, exclude_seen: true });
    const ids = [...structured.results, ...rest.structured.results].map(({ id }) => id);
    expect(ids).toEqual(Array.from({ length: 8 }, (_, n) => `r${n + 1}`));
  });
});

it('errors say what to do', async () => {
  const { refused, search } = await open();
  expect(await refused('service_read_document', { id: 'r9' })).toMatch(/"r9" is not a result.*search again/);
  expect(await refused('service_read_document', { id: 'doc_missing' })).toMatch(/not found.*service_search finds/);
  expect(await refused('service_read_document', { id: manualId, page: 1, offset: 2 })).toContain('only one of them');
  expect(await refused('service_read_document', { id: manualId, page: 3 })).toContain('no text on page 3');
  expect(await refused('service_read_document', { id: manualId, section: 'Anchors' })).toContain(
    'no heading "Anchors"',
  );
  expect(await refused('service_find_in_document', { id: manualId, find: ' ' })).toContain('"find"');
  await search({ query: 'green lantern', top_k: 1 });
  const { sql } = test.appliance;
  await sql`UPDATE documents SET privacy_level = 6 WHERE id = ${manualId}`;
  const hidden = await refused('service_read_document', { id: 'r1' });
  await sql`UPDATE documents SET privacy_level = 1 WHERE id = ${manualId}`;
  expect(hidden).toContain('not found');
});
