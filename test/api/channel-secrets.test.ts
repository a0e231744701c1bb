import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { CONFIGS, createConfig, deliver, freshUser, messengerConfig, SEND } from '../support/channels.ts';
import { FakeMessenger } from '../support/fake-messenger.ts';
import { keepLogs } from '../support/logs.ts';

// Credentials of channels, which must appear only in requests to their own provider.

const CREDENTIALS = {
  rest_api_key: 'heron.otter.kelp.0123456789',
  admin_key: 'plover.limpet.samphire.0123456789',
  secret: 'cormorant "quoted" \\eelgrass 0123456789',
};
const SLACK = {
  webhook_url: 'https://hooks.example.com/services/gannet/thrift/dunlin',
  tokens: ['whelk.bladderwrack.0123456789'],
};
const ALL = [...Object.values(CREDENTIALS), SLACK.webhook_url, ...SLACK.tokens];
const FORMS = ALL.flatMap((value) => [
  value,
  JSON.stringify(value).slice(1, -1),
  encodeURI(value),
  Buffer.from(value).toString('hex'),
  Buffer.from(value).toString('base64'),
]);

let provider: FakeMessenger;
let api: TestApi;
let key: string;
const { logger, lines } = keepLogs();
const answers: string[] = [];

beforeAll(async () => {
  provider = await FakeMessenger.start();
  api = await openTestApi({ logger, worker: false, settings: { channels: { messenger: { base_url: provider.url } } } });
  key = await api.key({ scopes: ['channels:manage', 'platform_admin'] });
});
afterAll(async () => {
  await api.close();
  await provider.close();
});

async function request(method: string, path: string, json?: unknown): Promise<void> {
  const answer = await api.call(method, path, { key, ...(json === undefined ? {} : { json }) });
  answers.push(JSON.stringify([method, path, answer.status, [...answer.headers], answer.body]));
}

function expectClean(where: string, text: string): void {
  for (const form of FORMS) expect([where, text.includes(form) ? text : 'clean']).toEqual([where, 'clean']);
}

test('no listing, answer, metric, log line or table contains a credential as plain text', async () => {
  const config = await createConfig(api, key, CREDENTIALS);
  await request('POST', CONFIGS, { name: 'again', provider: 'messenger', config: messengerConfig(CREDENTIALS) });
  await request('POST', CONFIGS, { name: 'wrong', provider: 'messenger', config: { ...CREDENTIALS, score_min: 'x' } });
  await request('POST', CONFIGS, { name: 'slack', provider: 'slack', config: SLACK });
  await request('GET', CONFIGS);
  for (const secret of [CREDENTIALS.secret, 'wrong']) {
    const answer = await deliver(api, { utterance: 'anything', user_id: freshUser() }, { secret });
    answers.push(JSON.stringify([answer.status, answer.body]));
  }
  const json = { channel_config_id: config, phone: '01012345678', template_code: 'T' };
  await request('POST', SEND, json);
  expect(provider.seen[0]?.authorization).toBe(`Bearer ${CREDENTIALS.rest_api_key}`);
  provider.answer = (response, { authorization }) => {
    const sent = authorization?.replace(/^Bearer /, '') ?? '';
    response.writeHead(401).end(JSON.stringify({ code: sent, message: `no such key: ${sent}`, error: sent }));
  };
  await request('POST', SEND, json);
  await request('GET', '/metrics');
  await request('GET', '/openapi.json');
  for (const line of answers) expectClean('answer', line);
  expect(lines.length).toBeGreaterThan(3);
  for (const line of lines) expectClean('log', JSON.stringify(line));

  const { sql } = api.appliance;
  const tables = await sql<{ name: string }[]>`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`;
  let rows = 0;
  for (const { name } of tables) {
    for (const { row } of await sql<{ row: string }[]>`SELECT to_jsonb(t)::text AS row FROM ${sql(name)} t`) {
      expectClean(name, row);
      rows++;
    }
  }
  expect(rows).toBeGreaterThan(10);
});
