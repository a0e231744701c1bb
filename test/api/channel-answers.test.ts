import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { openTestApi, type TestApi } from '../support/api.ts';
import { createConfig, deliver, fillBucket, freshUser, PATIENT, textOf, textsOf } from '../support/channels.ts';
import { makeUserToken } from '../support/tokens.ts';

let api: TestApi;
let key: string;

const LONG = Array.from(
  { length: 40 },
  (_, n) => `Chapter ${n + 1} says how valve ${n + 1} is cleaned with water and a soft brush.`,
).join(' ');

beforeAll(async () => {
  api = await openTestApi({ settings: PATIENT });
  key = await api.key({ scopes: ['channels:manage'] });
  await fillBucket(api, 'default', [
    { fileName: 'pump.txt', text: 'The pump is greased every three months. The grease is of type K.' },
    { fileName: 'pump-copy.txt', text: 'The pump is greased every three months. The grease is of  type K.' },
    { fileName: '펌프.txt', text: '펌프는 3개월마다 윤활합니다. 윤활유는 K형입니다.' },
    { fileName: 'valves.txt', text: LONG },
    { fileName: 'secret.txt', text: 'Turbine: restricted.', fields: { classification: 'restricted' } },
    { fileName: 'confidential.txt', text: 'Turbine: confidential.', fields: { classification: 'confidential' } },
    { fileName: 'level.txt', text: 'Turbine: of level two.', fields: { privacy_level: 2 } },
    { fileName: 'sales.txt', text: 'Turbine: of the sales department.', fields: { metadata: { scope: 'sales' } } },
    { fileName: 'internal.txt', text: 'Turbine: internal.' },
    { fileName: 'public.txt', text: 'Turbine: public.', fields: { public_accessible: true } },
    { fileName: 'emoji.txt', text: `Family ${'👩‍👩‍👧‍👦'.repeat(100)}`, fields: { chunk_size: 4000 } },
  ]);
  await createConfig(api, key);
}, 120_000);
afterAll(() => api.close());
beforeEach(async () => {
  await api.appliance.sql`DELETE FROM channel_calls`;
});

const ask = (utterance: string, bot_id = 'bot-1') => deliver(api, { utterance, user_id: freshUser(), bot_id });

/** SkillResponse 2.0 as published by Kakao, with the only kind of output in use. */
const SkillResponse = z.strictObject({
  version: z.literal('2.0'),
  template: z.strictObject({
    outputs: z
      .array(z.strictObject({ simpleText: z.strictObject({ text: z.string().min(1).max(1000) }) }))
      .min(1)
      .max(3),
    quickReplies: z.array(z.unknown()).max(10).optional(),
  }),
  context: z.unknown().optional(),
  data: z.unknown().optional(),
});

/** Check the shape of a reply and that its texts are well-formed, and return them. */
function expectWellFormed(answer: Awaited<ReturnType<typeof ask>>): string[] {
  expect(answer.status).toBe(200);
  SkillResponse.parse(answer.body);
  const texts = textsOf(answer);
  for (const text of texts) expect(text.isWellFormed()).toBe(true);
  return texts;
}

describe('a reply', () => {
  test('a reply numbers results with score, passage and source, and contains near-duplicates of two files once', async () => {
    const text = textOf(await ask('how often is the pump greased?'));
    expect(text).toMatch(
      /^1\. \[\d\.\d\d\] The pump is greased every three months\. The grease is of type K\.\n\(pump(-copy)?\.txt\)/,
    );
    expect(text.match(/greased every three months/g)).toHaveLength(1);
  });

  test('a reply is in Korean if the utterance is', async () => {
    expect(textOf(await ask('펌프는 얼마나 자주 윤활합니까?'))).toMatch(
      /^1\. \[\d\.\d\d\] 펌프는 3개월마다 윤활합니다\. .*\n\(펌프\.txt\)/,
    );
    expect(textOf(await ask('브라키오사우루스'))).toContain('관련된 내용을 찾지 못했습니다');
    expect(textOf(await ask('brachiosaurus'))).toContain('I found nothing about that');
  });

  test('a reply cuts a long passage at the ends of sentences around the matching one', async () => {
    const [first = ''] = expectWellFormed(await ask('how is valve 37 cleaned?'));
    expect(first).toContain('Chapter 37 says how valve 37 is cleaned');
    const passage = first.split('\n')[0]?.replace(/^1\. \[\d\.\d\d\] (… )?/, '') ?? '';
    expect(passage).toMatch(/^Chapter \d+ says .* a soft brush\.$/);
    expect(first.length).toBeLessThanOrEqual(1000);
  });

  test('a reply splits no grapheme', async () => {
    const text = textOf(await ask('family'));
    const family = '👩‍👩‍👧‍👦';
    const passage =
      text
        .split('\n')[0]
        ?.replace(/^1\. \[\d\.\d\d\] Family ?/, '')
        .replace('…', '') ?? '';
    expect(passage.length).toBeGreaterThan(100);
    expect(passage).toBe(family.repeat(passage.length / family.length));
  });
});

describe('documents of a channel', () => {
  const seen = async (bot: string) =>
    [...textOf(await ask('turbine', bot)).matchAll(/Turbine: ([a-z ]+)\./g)].map(([, kind]) => kind).sort();

  test('a channel sees no restricted or confidential document, none above level 1 and none of a department', async () => {
    expect(await seen('bot-1')).toEqual(['internal', 'public']);
  });

  test('a channel with public_only sees public documents only', async () => {
    await createConfig(api, key, { bot_id: 'public', public_only: true });
    expect(await seen('public')).toEqual(['public']);
  });

  test('a channel sees changes of classifications at once', async () => {
    await api.appliance.sql`UPDATE documents SET classification = 'confidential' WHERE file_name = 'internal.txt'`;
    expect(await seen('bot-1')).toEqual(['public']);
    await api.appliance.sql`UPDATE documents SET classification = 'internal' WHERE file_name = 'internal.txt'`;
    expect(await seen('bot-1')).toEqual(['internal', 'public']);
  });
});

describe('a configuration', () => {
  test('a configuration with bucket_collection searches that collection only', async () => {
    const { sql } = api.appliance;
    const admin = await api.key({ scopes: ['documents:write'] });
    const { body } = await api.call('POST', '/v1/buckets/default/collections', { key: admin, json: { name: 'faq' } });
    await sql`UPDATE documents SET collection_id = ${body.id} WHERE file_name = 'public.txt'`;
    await createConfig(api, key, { bot_id: 'faq', bucket_collection: 'faq' });
    expect(textOf(await ask('turbine', 'faq'))).toMatch(/^1\. \[\d\.\d\d\] Turbine: public\.\n\(public\.txt\)$/);
    await sql`DELETE FROM collections WHERE id = ${body.id}`;
    expect(textOf(await ask('turbine', 'faq'))).toContain('no answers are available at the moment');
    expect((await api.call('GET', '/metrics')).body).toMatch(
      /service_channel_faults_total\{channel="chn_\w+",reason="collection_not_found"\} 1/,
    );
  });

  test('a configuration with score_min leaves out results with a lower score', async () => {
    await createConfig(api, key, { bot_id: 'strict', score_min: 1 });
    expect(textOf(await ask('pump greased', 'strict')).match(/^\d\./gm)).toEqual(['1.']);
    await createConfig(api, key, { bot_id: 'lax', score_min: 0 });
    expect(textOf(await ask('brachiosaurus', 'lax'))).toMatch(/^1\. \[0\.0\d\]/);
  });

  test('a configuration whose bucket was deleted answers with an apology and increases a metric', async () => {
    await fillBucket(api, 'brief', [{ text: 'Short lived.' }]);
    await createConfig(api, key, { bot_id: 'brief', collection: 'brief' });
    expect(textOf(await ask('short lived', 'brief'))).toContain('Short lived.');
    const admin = await makeUserToken(api.appliance, { role: 'admin', authLevel: 10 });
    expect((await api.call('DELETE', '/v1/buckets/brief?confirm=brief', { key: admin })).status).toBe(200);
    const gone = await ask('어디에 있습니까?', 'brief');
    expectWellFormed(gone);
    expect(textOf(gone)).toContain('지금은 답변을 드릴 수 없습니다');
    expect((await api.call('GET', '/metrics')).body).toMatch(
      /service_channel_faults_total\{channel="chn_\w+",reason="bucket_not_found"\} 1/,
    );
  });
});

describe('an utterance', () => {
  test.each([
    ['of 1 character', 'x'],
    ['of 1 Korean character', '펌'],
    ['of 100,000 characters', `pump ${'x'.repeat(99_995)}`],
    ['of 100,000 Korean characters', '펌'.repeat(100_000)],
    ['of 100,000 characters outside the basic plane', '👩‍👩‍👧‍👦'.repeat(100_000 / 11)],
    ['of combining marks alone', '\u0301'.repeat(100_000)],
    ['of half a surrogate pair', '\ud83d'],
    ['with control characters', 'pump\u0000\u0007\u202e greased'],
    ['of punctuation', '?!?!'],
    ['with the syntax of query languages', `' OR 1=1; --  "unclosed AND (`],
  ])('an utterance %s is answered in the right shape', async (_form, utterance) => {
    expectWellFormed(await ask(utterance));
  });

  test('an utterance of blanks is answered by a request for the question', async () => {
    expect(textOf(await ask(' \n\t '))).toBe('Please write your question.');
  });

  test('only the beginning of an utterance beyond 1,000 characters is searched for', async () => {
    expect(textOf(await ask(`pump greased ${'x'.repeat(99_000)}`))).toContain('three months');
  });
});
