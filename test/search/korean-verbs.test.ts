import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { ingestAll } from '../support/ingest-all.ts';

const SENTENCES = [
  '차를 마셨다.',
  '항구에 갔다.',
  '등대를 옮겼다.',
  '신호가 끊겼습니다.',
  '바람이 분다.',
  '배가 들어온다.',
  '편지를 썼다.',
  '음악을 들었다.',
  '이웃을 도왔다.',
  '집을 지었다.',
  '빵을 만듭니다.',
  '사과가 빨개요.',
  '바다가 넓습니다.',
];

let test: TestAppliance;
let worker: Service;
let nameOf: Map<string, string>;
beforeAll(async () => {
  test = await openTestAppliance();
  worker = test.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  await createBucket(test.appliance.sql, test.operator, { name: 'verbs', policy: BucketPolicy.parse({}) });
  const documents = SENTENCES.map((text, nth) => ({ id: text, fileName: `${nth}.txt`, text }));
  nameOf = (await ingestAll(test.appliance, test.operator, 'verbs', documents)).idOf;
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});

async function find(query: string, mode: string) {
  const request = SearchRequest.parse({ query, mode, highlights: true });
  const { results } = await searchBucket(test.appliance.search, test.operator, 'verbs', request);
  return results.map((result) => ({ ...result, sentence: nameOf.get(result.document_id) }));
}

it.each([
  ['마시다', '차를 마셨다.'],
  ['가다', '항구에 갔다.'],
  ['옮기다', '등대를 옮겼다.'],
  ['끊기다', '신호가 끊겼습니다.'],
  ['끊김', '신호가 끊겼습니다.'],
  ['불다', '바람이 분다.'],
  ['들어오다', '배가 들어온다.'],
  ['쓰다', '편지를 썼다.'],
  ['듣다', '음악을 들었다.'],
  ['돕다', '이웃을 도왔다.'],
  ['짓다', '집을 지었다.'],
  ['만들다', '빵을 만듭니다.'],
  ['빨갛다', '사과가 빨개요.'],
  ['바다', '바다가 넓습니다.'],
])('%s finds "%s" first', async (query, sentence) => {
  for (const mode of ['keyword', 'hybrid']) expect((await find(query, mode))[0]?.sentence, mode).toBe(sentence);
});

it('the inflected form is relevant and highlighted', async () => {
  const [first] = await find('마시다', 'keyword');
  expect(first?.relevance).toBe('high');
  expect(first?.highlights?.[0]?.parts).toContainEqual({ text: '마셨다', match: true });
});
