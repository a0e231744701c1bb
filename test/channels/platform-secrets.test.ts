import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { backUp, makeFolder } from '../backup/support.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { fillBucket, messengerConfig } from '../support/channels.ts';
import { type FakeCollector, startFakeCollector } from '../support/fake-collector.ts';
import type { FakeMessenger } from '../support/fake-messenger.ts';
import { keepLogs } from '../support/logs.ts';
import {
  kakaoBody,
  lineBody,
  lineEvent,
  PLATFORMS,
  slackBody,
  startPlatforms,
  takeReply,
} from '../support/platforms.ts';
import { until } from '../support/until.ts';

// Secrets of all providers, which must appear only in requests to their own platform.

/** Credential of each provider, recognisable in any output. */
const SECRETS = {
  kakao: { secret: 'heron-otter-kelp-0123456789', header_name: 'X-Skill', header_value: 'plover.limpet.samphire' },
  telegram: { secret: 'cormorant_eelgrass_0123456789' },
  teams: { secret: Buffer.from('dunlin thrift gannet whelk bladderwrack').toString('base64') },
  slack: { secret: 'spoonbillspoonbillspoonbill0123', bot_token: 'xoxb-avocet-avocet-avocet-avocet' },
  line: { secret: 'turnstoneturnstoneturnstone0123', access_token: 'guillemot+guillemot/guillemot+guillemot=' },
  messenger: {
    rest_api_key: 'razorbill-razorbill-01',
    admin_key: 'fulmar-fulmar-fulmar-01',
    secret: 'kittiwake-kittiwake',
  },
};
const CALLBACK_TOKEN = 'oystercatcher-oystercatcher-oystercatcher';
const REPLY_TOKEN = 'sandpiper-sandpiper-sandpiper';
const QUESTION = 'how often is the phalarope greased?';
const ALL = [
  ...Object.values(SECRETS).flatMap((config) =>
    Object.entries(config).flatMap(([name, value]) => (name === 'header_name' ? [] : [value])),
  ),
  ...[CALLBACK_TOKEN, REPLY_TOKEN, 'phalarope'],
];
const FORMS = ALL.flatMap((value) => [value, encodeURIComponent(value), Buffer.from(value).toString('base64')]);

const { logger, lines } = keepLogs();
const answers: string[] = [];
const paths: Record<string, string> = {};
const ids: Record<string, string> = {};
let collector: FakeCollector;
let fake: FakeMessenger;
let test: TestApi;
let key: string;

beforeAll(async () => {
  collector = await startFakeCollector();
  const platforms = await startPlatforms();
  fake = platforms.fake;
  test = await openTestApi({
    logger,
    settings: { channels: platforms.settings, tracing: { endpoint: collector.url }, base_url: 'http://127.0.0.1:1' },
  });
  key = await test.key({ scopes: ['channels:manage', 'platform_admin'] });
  await fillBucket(test, 'default', [{ fileName: 'pump.txt', text: 'The pump is greased every three months.' }]);
});
afterAll(async () => {
  await test?.close();
  await fake.close();
  await collector.close();
});

async function request(method: string, path: string, options: Parameters<TestApi['call']>[2] = {}) {
  const answer = await test.call(method, path, options);
  answers.push(JSON.stringify([method, answer.status, [...answer.headers], answer.body]));
  return answer;
}

async function deliver(provider: string, body: object, { secret, path }: { secret?: string; path?: string } = {}) {
  const bytes = JSON.stringify(body);
  const config = SECRETS[provider as keyof typeof SECRETS];
  const headers = {
    'Content-Type': 'application/json',
    ...PLATFORMS[provider]?.headers(secret ?? config.secret, bytes),
    ...(provider === 'kakao' ? { 'X-Skill': secret ?? SECRETS.kakao.header_value } : {}),
  };
  return request('POST', path ?? (paths[provider] as string), { headers, body: bytes });
}

function expectClean(where: string, text: string): void {
  for (const form of FORMS) expect([where, text.includes(form) ? text : 'clean']).toEqual([where, 'clean']);
}

/** Make a backup, and look through its report and all of its files. @returns number of files */
async function lookThroughBackup(): Promise<number> {
  const folder = makeFolder();
  try {
    expectClean('report of a backup', JSON.stringify(await backUp(test.appliance, folder.location)));
    const names = readdirSync(folder.directory, { recursive: true, withFileTypes: true }).filter((each) =>
      each.isFile(),
    );
    for (const { parentPath, name } of names) {
      const bytes = readFileSync(path.join(parentPath, name));
      const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
      expectClean(`${name} of a backup`, (isPacked ? gunzipSync(bytes) : bytes).toString('latin1'));
    }
    return names.length;
  } finally {
    folder.remove();
  }
}

async function repliesEnd(): Promise<void> {
  const { sql } = test.appliance;
  const open = () => sql`SELECT 1 FROM channel_later_replies WHERE status IN ('waiting', 'sending')`;
  await until(async () => (await open()).length === 0, { withinMs: 20_000, what: 'the end of the replies' });
}

it('no log, list, error, metric, trace or table has a secret of a platform, a reply address or a question', async () => {
  for (const [provider, config] of Object.entries(SECRETS)) {
    const own = provider === 'messenger' ? messengerConfig(config) : { collection: 'default', ...config };
    const json = { name: provider, provider, config: own };
    const made = await test.call('POST', '/v1/channels/configs', { key, json });
    expect([provider, made.status]).toEqual([provider, 200]);
    paths[provider] = made.body.webhook_path;
    ids[provider] = made.body.id;
    await request('POST', '/v1/channels/configs', { key, json: { ...json, config: { ...own, score_min: 'x' } } });
    await request('POST', '/v1/channels/configs', {
      key,
      json: { ...json, config: { ...own, collection: 'nowhere' } },
    });
    await request('POST', `/v1/channels/configs/${made.body.id}/test`, { key, json: { query: 'pump' } });
  }
  const callback = `${fake.origin}/callback/${CALLBACK_TOKEN}`;
  const bodies: Record<string, object> = {
    kakao: kakaoBody(QUESTION, callback),
    telegram: PLATFORMS['telegram']?.body(QUESTION, 1) as object,
    teams: PLATFORMS['teams']?.body(QUESTION, 1) as object,
    slack: slackBody(QUESTION, 1, { channel: REPLY_TOKEN }),
    line: lineBody(lineEvent(QUESTION, 1, { replyToken: REPLY_TOKEN })),
  };
  for (const [provider, body] of Object.entries(bodies)) {
    expect((await deliver(provider, body)).status).toBe(200);
    expect((await deliver(provider, body, { secret: 'a-wrong-secret-of-the-platform' })).status).toBe(403);
    expect((await deliver(provider, body, { path: `${paths[provider]}/more` })).status).toBe(404);
  }
  await repliesEnd();
  // A platform that repeats the credential in its answers, a callback at another host, and one that is never taken.
  fake.answer = (response, { authorization = '', path }) =>
    response.writeHead(400, { location: path }).end(JSON.stringify({ ok: false, error: authorization, message: path }));
  await deliver('slack', slackBody(QUESTION, 2, { channel: REPLY_TOKEN }));
  await deliver('line', lineBody(lineEvent(QUESTION, 2, { replyToken: REPLY_TOKEN })));
  await deliver('kakao', kakaoBody(QUESTION, `https://elsewhere.example/${CALLBACK_TOKEN}`));
  for (const provider of ['slack', 'line']) {
    await request('POST', `/v1/channels/configs/${ids[provider]}/test`, { key, json: { query: 'pump' } });
  }
  await repliesEnd();
  fake.answer = takeReply;

  for (const list of ['configs', 'deliveries', 'outbox']) await request('GET', `/v1/channels/${list}`, { key });
  for (const page of ['/metrics', '/openapi.json', '/v1/usage/summary']) await request('GET', page, { key });
  for (const line of answers) expectClean('answer', line.replaceAll(`"q":"${QUESTION}"`, ''));
  expect(lines.length).toBeGreaterThan(20);
  for (const line of lines) expectClean('log', JSON.stringify(line));
  await until(async () => collector.spans.some(({ name }) => name.includes('/v1/channels/kakao/')), {
    withinMs: 30_000,
    what: 'the traces',
  });
  for (const body of collector.bodies) expectClean('trace', body.toString('latin1'));

  const { sql } = test.appliance;
  const tables = await sql<{ name: string }[]>`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`;
  let rows = 0;
  for (const { name } of tables) {
    for (const { row } of await sql<{ row: string }[]>`SELECT to_jsonb(t)::text AS row FROM ${sql(name)} t`) {
      expectClean(name, row);
      rows++;
    }
  }
  expect(rows).toBeGreaterThan(20);
  expect(await lookThroughBackup()).toBeGreaterThan(3);
  const later = await sql`SELECT status, reason FROM channel_later_replies WHERE status = 'failed' ORDER BY reason`;
  expect([...later]).toEqual([
    { status: 'failed', reason: 'http_400' },
    { status: 'failed', reason: 'http_400' },
  ]);
});
