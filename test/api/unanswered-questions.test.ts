import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { CONFIGS, createConfig, deliver, freshUser, textsOf } from '../support/channels.ts';

// Questions to channels to which the bucket has no answer: counted always, kept as texts only if the operator allows it.

const QUESTIONS = '/v1/channels/questions';
const UNANSWERED = '/v1/channels/unanswered';

let keeping: TestApi;
/** Second process whose operator keeps no texts. */
let counting: TestApi;
let key: string;
let config: string;

beforeAll(async () => {
  const patient = { reply_deadline_seconds: 60 };
  keeping = await openTestApi({ worker: false, settings: { channels: { ...patient, keep_questions: true } } });
  counting = await openTestApi({ worker: false, beside: keeping, settings: { channels: patient } });
  key = await keeping.key({ scopes: ['channels:manage'] });
  config = await createConfig(keeping, key);
});
afterAll(async () => {
  await counting.close();
  await keeping.close();
});

const ask = (utterance: string, of: TestApi = keeping) => deliver(of, { utterance, user_id: freshUser() });
const list = async (path: string, by = key) => (await keeping.call('GET', path, { key: by })).body;
const sweep = async (of: TestApi) => {
  const chore = of.appliance.channels.chores(60_000).find(({ name }) => name.includes('old records'));
  await chore?.run(new AbortController().signal);
};

test('an unanswered question is counted, and kept without the one who asked', async () => {
  const delivery = { utterance: 'is there  a swimming pool?', user_id: 'person-canary-1' };
  const first = await deliver(keeping, delivery);
  expect(textsOf(first)).toHaveLength(1);
  await ask('is there a sauna?');
  const { data } = await list(QUESTIONS);
  expect(data).toMatchObject([
    { channel_config_id: config, question: 'is there a sauna?' },
    { channel_config_id: config, question: 'is there a swimming pool?' },
  ]);
  expect(await list(UNANSWERED)).toMatchObject([{ channel_config_id: config, last_30_days: 2, total: 2 }]);
  const rows = await keeping.appliance.sql`SELECT to_jsonb(q)::text AS row FROM channel_questions q`;
  expect(JSON.stringify(rows)).not.toContain('person-canary');
});

test('questions are read page by page, only by those who manage the channels of the organization', async () => {
  const first = await list(`${QUESTIONS}?limit=1`);
  expect(first).toMatchObject({ has_more: true, data: [{ question: 'is there a sauna?' }] });
  const second = await list(`${QUESTIONS}?limit=1&cursor=${first.next_cursor}`);
  expect(second).toMatchObject({ has_more: false, data: [{ question: 'is there a swimming pool?' }] });
  expect((await list(`${QUESTIONS}?config=chn_missing`)).data).toEqual([]);
  const foreign = await keeping.key({ scopes: ['channels:manage'], org: 'foreign' });
  expect((await list(`${QUESTIONS}?config=${config}`, foreign)).data).toEqual([]);
  expect(await list(UNANSWERED, foreign)).toEqual([]);
  for (const path of [QUESTIONS, UNANSWERED]) {
    expect((await keeping.call('GET', path, { key: await keeping.key({ scopes: ['search'] }) })).status).toBe(403);
  }
});

test('without the permission of the operator a question is only counted, and kept texts are removed', async () => {
  await ask('is there a garden?', counting);
  expect((await list(QUESTIONS)).data).toHaveLength(2);
  expect(await list(UNANSWERED)).toMatchObject([{ total: 3 }]);
  await sweep(keeping);
  expect((await list(QUESTIONS)).data).toHaveLength(2);
  await sweep(counting);
  expect((await list(QUESTIONS)).data).toEqual([]);
  expect(await list(UNANSWERED)).toMatchObject([{ total: 3 }]);
});

test('texts are removed after 30 days and numbers after 400 days', async () => {
  await ask('is there a roof?');
  const { sql } = keeping.appliance;
  await sql`UPDATE channel_questions SET asked_at = now() - interval '29 days'`;
  await sweep(keeping);
  expect((await list(QUESTIONS)).data).toHaveLength(1);
  await sql`UPDATE channel_questions SET asked_at = now() - interval '31 days'`;
  await sql`UPDATE channel_unanswered SET day = day - 100`;
  await sweep(keeping);
  expect((await list(QUESTIONS)).data).toEqual([]);
  expect(await list(UNANSWERED)).toMatchObject([{ last_30_days: 0, total: 4 }]);
  await sql`UPDATE channel_unanswered SET day = day - 301`;
  await sweep(keeping);
  expect(await list(UNANSWERED)).toEqual([]);
});

test('the questions of a configuration are removed with it', async () => {
  await ask('is there a cellar?');
  expect((await keeping.call('DELETE', `${CONFIGS}/${config}`, { key })).status).toBe(200);
  expect((await list(QUESTIONS)).data).toEqual([]);
  expect(await list(UNANSWERED)).toEqual([]);
});
