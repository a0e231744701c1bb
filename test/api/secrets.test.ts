import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi } from '../support/api.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { CANARY, CANARY_MODELS, canarySettings, expectClean } from '../support/canary.ts';
import { type Echo, EchoUpstream } from '../support/echo-upstream.ts';
import { keepLogs, type LogLine } from '../support/logs.ts';
import { until } from '../support/until.ts';

// Credentials that are nowhere to be found but in the settings and in what is sent to their own vendor.

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const json = (body: unknown) => JSON.stringify(body);
const nested = (key: string) =>
  json({
    error: {
      message: `Incorrect API key provided: ${key}. Also "${key}".`,
      type: key,
      param: key,
      code: key,
      status: key,
      details: [{ '@type': `type/${key}`, reason: key }],
    },
    detail: key,
  });
const ECHOES: readonly (readonly [string, Echo])[] = [
  ['a wrong key, 401', { status: 401, body: nested }],
  ['an account without rights, 403', { status: 403, body: (key) => json({ detail: `no rights for ${key}` }) }],
  ['a bad input, 400', { status: 400, body: nested }],
  ['a code that has the key in it, 400', { status: 400, body: (key) => json({ error: { code: `bad_${key}` } }) }],
  ['a list of faults, 422', { status: 422, body: (key) => json({ detail: [{ loc: [key], msg: key, input: key }] }) }],
  ['an unknown path, 404', { status: 404, body: (key) => `no such path for ${key}` }],
  ['too many requests, 429', { status: 429, body: nested, headers: (key) => ({ 'retry-after': encodeURI(key) }) }],
  ['a fault of its own, 500', { status: 500, body: nested }],
  ['text, 500', { status: 500, body: (key) => `Traceback: authorization=${key}` }],
  ['HTML, 502', { status: 502, body: (key) => `<html><body>${key}</body></html>` }],
  [
    'a redirect',
    { status: 307, body: nested, headers: (key) => ({ location: `http://127.0.0.1:1/${encodeURI(key)}` }) },
  ],
  ['a success that is none', { status: 200, body: nested }],
  [
    'a success with the key for a vector',
    { status: 200, body: (key) => json({ data: [{ index: 0, embedding: key }] }) },
  ],
  ['no answer', { status: 0, body: () => null }],
];

let installation: TestAppliance;
let upstream: EchoUpstream;

beforeAll(async () => {
  installation = await openTestAppliance();
  upstream = await EchoUpstream.start();
});
afterAll(async () => {
  await upstream.close();
  await installation.close();
});

/** Everything that an installation on these settings says while its vendors fail: answers, logs, metrics. */
async function listen(settings: Record<string, unknown>): Promise<{ answers: string[]; lines: LogLine[] }> {
  const { logger, lines } = keepLogs();
  const workers = { retries_max: 0 };
  const test = await openTestApi({ settings: { ...settings, workers }, beside: installation, logger, worker: false });
  // There is no Redis to ring the bell.
  const worker = test.appliance.jobs.worker('ingest', { sweepMs: 20 });
  await worker.start(new AbortController().signal);
  const answers: string[] = [];
  const key = await test.key({ scopes: ['embed', 'search', 'documents:write', 'platform_admin'] });
  const say = async (method: string, at: string, body?: unknown) => {
    const answer = await test.call(method, at, { key, ...(body === undefined ? {} : { json: body }) });
    answers.push(`${method} ${at}: ${answer.status} ${json([...answer.headers])} ${json(answer.body)}`);
    return answer;
  };
  for (const model of CANARY_MODELS) await say('POST', '/v1/embeddings', { input: 'a text', model });
  await say('POST', '/v1/embed/batch', { texts: ['a', 'b'], model: CANARY_MODELS[0] });
  await say('POST', '/v1/embed/image', { images: [PNG] });
  await say('POST', '/v2/buckets/default/search', { query: 'what does it warn of' });
  const upload = { filename: 'a.txt', text: 'What does it warn of?', on_duplicate: 'allow' };
  const { body: taken } = await say('POST', '/v1/buckets/default/documents', upload);
  await until(async () => (await test.call('GET', `/v1/jobs/${taken.job_id}`, { key })).body.status === 'failed');
  const failed = await say('GET', `/v1/jobs/${taken.job_id}`);
  expect(failed.body).toMatchObject({ failed_phase: 'embedding', error_message: expect.any(String) });
  await say('GET', '/v1/models');
  await say('GET', '/v1/routing');
  await say('GET', '/readyz');
  await say('GET', '/openapi.json');
  await say('GET', '/metrics');
  await worker.stop();
  await test.close();
  return { answers, lines };
}

describe('while the vendor repeats the credential', () => {
  it.each(ECHOES)('in %s', async (_what, echo) => {
    upstream.echo = echo;
    upstream.credentials.clear();
    const { answers, lines } = await listen(canarySettings(upstream.url));
    const { redis: _redis, cron: _cron, openaiTwo: _second, ...sent } = CANARY;
    for (const credential of Object.values(sent)) expect(upstream.credentials).toContain(credential);
    for (const answer of answers) expectClean('answer', answer);
    for (const line of lines) expectClean('log', json(line));
    expect(lines.length).toBeGreaterThan(0);
  });

  it('in nothing at all: every vendor is away', async () => {
    const { answers, lines } = await listen(canarySettings('http://127.0.0.1:1'));
    for (const answer of answers) expectClean('answer', answer);
    for (const line of lines) expectClean('log', json(line));
  });
});

it('no table has one in the clear', async () => {
  const { sql } = installation.appliance;
  const tables = await sql<{ name: string }[]>`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`;
  const failed = await sql`SELECT 1 FROM jobs WHERE error_message IS NOT NULL`;
  expect([tables.length > 10, failed.length > 10]).toEqual([true, true]);
  for (const { name } of tables) {
    for (const { row } of await sql<{ row: string }[]>`SELECT to_jsonb(t)::text AS row FROM ${sql(name)} t`) {
      expectClean(name, row);
    }
  }
});
