import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { type FakeReranker, stall, startFakeReranker } from '../support/fake-reranker.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { untilSettled } from '../support/settled.ts';

let test: TestApi;
let fake: FakeReranker;
let key: string;

/** Text of about the length of a chunk, so that each heading below begins a new chunk. */
const REPEATED = `The ferry to the island leaves the harbour every morning. ${Array.from({ length: 90 }, (_, n) => `pier${n}x`).join(' ')}.`;
const DOCUMENTS = [
  { id: 'ferry', fileName: 'ferry.txt', text: 'The ferry leaves the harbour at seven.' },
  {
    id: 'ferries',
    fileName: 'ferries.txt',
    text: 'A ferry is a boat. The harbour has a ferry, and the ferry has a harbour.',
  },
  {
    id: 'train',
    fileName: 'train.txt',
    text: 'The train leaves the station near the harbour at eight, after the ferry.',
  },
  // Each paragraph is one chunk, with the same words under every heading.
  {
    id: 'timetable',
    fileName: 'timetable.md',
    text: Array.from({ length: 6 }, (_, n) => `# Day ${n}\n\n${REPEATED}`).join('\n\n'),
  },
];
const idOf = new Map<string, string>();

const rerank = (timeoutSeconds: number) => ({
  rerank: { protocol: 'jina', base_url: fake.url, model: 'ranker', timeout_seconds: timeoutSeconds },
});

beforeAll(async () => {
  fake = await startFakeReranker('jina');
  test = await openTestApi({ settings: rerank(30) });
  for (const [document, id] of (await ingestAll(test.appliance, test.operator, 'default', DOCUMENTS)).idOf) {
    idOf.set(document, id);
  }
  // Equal searches give equal results in the same order once the index is settled.
  await untilSettled(test.appliance.sql, 'default');
  key = await test.key({ scopes: ['search'] });
});
afterAll(async () => {
  await test.close();
  await fake.close();
});
afterEach(() => {
  fake.misbehave = null;
  fake.calls.length = 0;
  fake.scoreOf = (text) => 1 / (1 + text.length);
});

async function search(fields: Record<string, unknown> = {}, api = test) {
  const reply = await api.call('POST', '/v2/buckets/default/search', {
    key,
    json: { query: 'ferry harbour', ...fields },
  });
  expect(reply.status).toBe(200);
  const names = reply.body.results.map((result: { document_id: string }) => idOf.get(result.document_id));
  return { ...reply.body, names };
}

describe('searches with rerank', () => {
  it('the reranker orders the results, and its scores become theirs', async () => {
    fake.scoreOf = (text) => (text.includes('train') ? 0.9 : 0.1);
    const reply = await search({ rerank: true });
    expect(reply.names[0]).toBe('train');
    expect(reply.results[0]).toMatchObject({ score: 0.9, scores: { rerank_score: 0.9 } });
    expect(reply.results[0].scores.rrf_score).toBeGreaterThan(0);
    expect(reply.warnings).toEqual([]);
    expect(fake.calls).toHaveLength(1);
  });

  it('rerank_top_k adds candidates if it is larger than top_k, and limits the results if it is smaller', async () => {
    fake.scoreOf = (text) => (text.includes('train') ? 0.9 : 0.1);
    expect((await search({ rerank: true, top_k: 1, rerank_top_k: 8 })).names).toEqual(['train']);
    expect(fake.calls[0]?.texts).toHaveLength(4); // All documents.
    expect((await search({ rerank: true, top_k: 4, rerank_top_k: 2 })).names).toHaveLength(2);
    expect(fake.calls[1]?.texts).toHaveLength(4);
    expect((await search({ top_k: 4, rerank_top_k: 2 })).names).toHaveLength(4);
  });

  it('the score threshold is compared with the score of the reranker', async () => {
    fake.scoreOf = (text) => (text.includes('train') ? 0.9 : 0.1);
    expect((await search({ rerank: true, score_threshold: 0.5 })).names).toEqual(['train']);
  });

  it.each([
    ['is down', 'is not available', (response: { destroy(): void }) => void response.destroy()],
    ['is late', 'did not answer in time', stall],
  ] as const)('a reranker that %s leaves the fused order, with a warning', async (_, warning, misbehave) => {
    const impatient = await openTestApi({ worker: false, beside: test, settings: rerank(0.2) });
    onTestFinished(() => impatient.close());
    const { names } = await search();
    fake.misbehave = misbehave as FakeReranker['misbehave'];
    const reply = await search({ rerank: true }, impatient);
    expect(reply.names).toEqual(names);
    expect(reply.warnings).toEqual([`the reranker ${warning}; results are in fused order`]);
    expect(reply.results[0].scores.rerank_score).toBeNull();
  });
});

describe('the results of a search', () => {
  it('chunks of one document with equal text are one result', async () => {
    const { names } = await search({ top_k: 10, query: 'ferry to the island every morning' });
    expect(names.filter((name: string) => name === 'timetable')).toHaveLength(1);
  });

  it('a search shows the sentences with words of the query only where highlights are asked for', async () => {
    const { results } = await search({ query: 'ferries', highlights: true, mode: 'keyword' });
    const shown = results.map(({ highlights }: { highlights: { parts: { text: string; match: boolean }[] }[] }) =>
      highlights.map(({ parts }) => parts.map((part) => (part.match ? `[${part.text}]` : part.text)).join('')),
    );
    expect(shown).toContainEqual(['The [ferry] leaves the harbour at seven.']);
    const plain = await search({ query: 'ferries', mode: 'keyword' });
    expect(plain.results.every((result: object) => !('highlights' in result))).toBe(true);
  });

  it('a search explains by rank, weight and terms of each leg why a result is there, only where it is asked for', async () => {
    const { results } = await search({ query: 'the ferries of islands', explain: true });
    for (const { explain, scores } of results) {
      const parts = explain.keyword.contribution + explain.vector.contribution;
      expect(parts).toBeCloseTo(scores.rrf_score, 10);
      expect(explain.keyword.rank === null).toBe(scores.bm25_score === null);
      expect(explain.vector.rank === null).toBe(scores.vector_score === null);
    }
    const first = results.find(({ explain }: { explain: { keyword: { rank: number } } }) => explain.keyword.rank === 1);
    const words = first.explain.keyword.terms.flatMap((term: { words: string[] }) => term.words);
    expect(words).toContain('ferry');
    const legs = await Promise.all(['keyword', 'vector'].map((mode) => search({ explain: true, mode })));
    expect(legs.map(({ results: [{ explain }] }) => [explain.keyword === null, explain.vector === null])).toEqual([
      [false, true],
      [true, false],
    ]);
    const plain = await search({ query: 'ferries' });
    expect(plain.results.every((result: object) => !('explain' in result))).toBe(true);
  });

  it('the address of a result is the page of its document in the console, at the chunk', async () => {
    const { results } = await search();
    expect(results.length).toBeGreaterThan(1);
    for (const { citation, document_id, chunk_index } of results)
      expect(citation.url).toBe(`${test.api.url}/console/documents/${document_id}#${chunk_index}`);
  });

  it('max_per_document limits the results of one document', async () => {
    const { names } = await search({ max_per_document: 1 });
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('a search in the shape of a vector store', () => {
  const client = () => new OpenAI({ apiKey: key, baseURL: `${test.api.url}/v1` });

  it('the official client reads a search in the shape of a vector store', async () => {
    const page = await client().vectorStores.search('default', {
      query: 'ferry harbour',
      max_num_results: 2,
      ranking_options: { score_threshold: 0.01 },
    });
    const same = await search({ top_k: 2 });
    expect(page.object).toBe('vector_store.search_results.page');
    expect(page.data.map((item) => idOf.get(item.file_id))).toEqual(same.names);
    const [first] = same.results;
    expect(page.data[0]).toMatchObject({
      filename: first.citation.file_name,
      content: [{ type: 'text', text: first.text }],
      score: first.score,
    });
  });

  it('a search in the shape of a vector store takes filters of that shape, and several queries', async () => {
    const body = { query: ['ferry', 'harbour'], filters: { type: 'eq', key: 'area', value: 'sea' } };
    const reply = await test.call('POST', '/v1/vector_stores/default/search', { key, json: body });
    expect(reply).toMatchObject({
      status: 200,
      body: { search_query: ['ferry', 'harbour'], data: [], has_more: false },
    });
  });

  it.each([
    [{}, 'query'],
    [{ query: '' }, 'query'],
    [{ query: [] }, 'query'],
    [{ query: ['x'.repeat(8001)] }, 'query'],
    [{ query: Array.from({ length: 11 }, () => 'x') }, 'query'],
    [{ query: 'x', max_num_results: 0 }, 'max_num_results'],
    [{ query: 'x', max_num_results: 51 }, 'max_num_results'],
    [{ query: 'x', filters: { type: 'like', key: 'a', value: 'b' } }, 'filters'],
    [{ query: 'x', ranking_options: { score_threshold: 2 } }, 'score_threshold'],
  ])('a search in the shape of a vector store is refused for %j', async (json, named) => {
    const reply = await test.call('POST', '/v1/vector_stores/default/search', { key, json });
    expect(reply.status).toBe(400);
    expect(reply.body.detail).toContain(named);
    const { message, type } = reply.body.error;
    expect({ message, type }).toEqual({ message: reply.body.detail, type: 'invalid_request_error' });
  });

  it("OpenAI's library shows the message of an error of a vector store", async () => {
    const client = new OpenAI({ apiKey: key, baseURL: `${test.api.url}/v1`, maxRetries: 0 });
    await expect(client.vectorStores.search('nowhere', { query: 'x' })).rejects.toThrow(
      /404 bucket not found: nowhere/,
    );
    await expect(client.vectorStores.retrieve('nowhere')).rejects.toThrow(/404 bucket not found: nowhere/);
  });
});
