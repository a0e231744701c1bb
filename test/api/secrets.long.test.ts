import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi } from '../support/api.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { CANARY, CANARY_MODELS, canarySettings, expectClean } from '../support/canary.ts';
import { type Echo, EchoUpstream } from '../support/echo-upstream.ts';
import { keepLogs, type LogLine } from '../support/logs.ts';
import { until } from '../support/until.ts';

// Tests that credentials appear only in the settings and in requests to their own vendor.

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
  ['an error with status 200', { status: 200, body: nested }],
  [
    'a success with the key for a vector',
    { status: 200, body: (key) => json({ data: [{ index: 0, embedding: key }] }) },
  ],
  ['a reset connection', { status: 0, body: () => null }],
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

/** Collect the answers, metrics and logs of an installation on these settings while its vendors fail. */
async function collectOutput(settings: Record<string, unknown>): Promise<{ answers: string[]; lines: LogLine[] }> {
  const { logger, lines } = keepLogs();
  const workers = { retries_max: 0 };
  const test = await openTestApi({ settings: { ...settings, workers }, beside: installation, logger, worker: false });
  // There is no Redis to notify the worker.
  const worker = test.appliance.jobs.worker('ingest', { sweepMs: 20 });
  await worker.start(new AbortController().signal);
  const answers: string[] = [];
  const key = await test.key({ scopes: ['embed', 'search', 'documents:write', 'platform_admin'] });
  const request = async (method: string, at: string, body?: unknown) => {
    const answer = await test.call(method, at, { key, ...(body === undefined ? {} : { json: body }) });
    answers.push(`${method} ${at}: ${answer.status} ${json([...answer.headers])} ${json(answer.body)}`);
    return answer;
  };
  for (const model of CANARY_MODELS) await request('POST', '/v1/embeddings', { input: 'a text', model });
  await request('POST', '/v1/embed/batch', { texts: ['a', 'b'], model: CANARY_MODELS[0] });
  await request('POST', '/v1/embed/image', { images: [PNG] });
  await request('POST', '/v2/buckets/default/search', { query: 'what does it warn of' });
  const upload = { filename: 'a.txt', text: 'What does it warn of?', on_duplicate: 'allow' };
  const { body: taken } = await request('POST', '/v1/buckets/default/documents', upload);
  await until(async () => (await test.call('GET', `/v1/jobs/${taken.job_id}`, { key })).body.status === 'failed');
  const failed = await request('GET', `/v1/jobs/${taken.job_id}`);
  expect(failed.body).toMatchObject({ failed_phase: 'embedding', error_message: expect.any(String) });
  await request('GET', '/v1/models');
  await request('GET', '/v1/routing');
  await request('GET', '/readyz');
  await request('GET', '/openapi.json');
  await request('GET', '/metrics');
  await worker.stop();
  await test.close();
  return { answers, lines };
}

describe('credentials that a vendor repeats', () => {
  it.each(ECHOES)('no answer or log has a credential that the vendor repeats in %s', async (_label, echo) => {
    upstream.echo = echo;
    upstream.credentials.clear();
    const { answers, lines } = await collectOutput(canarySettings(upstream.url));
    const { redis: _redis, cron: _cron, openaiTwo: _second, awsSecret: _aws, ...sent } = CANARY;
    for (const credential of Object.values(sent)) expect(upstream.credentials).toContain(credential);
    for (const answer of answers) expectClean('answer', answer);
    for (const line of lines) expectClean('log', json(line));
    expect(lines.length).toBeGreaterThan(0);
  });

  it('no answer or log has a credential while every vendor is unavailable', async () => {
    const { answers, lines } = await collectOutput(canarySettings('http://127.0.0.1:1'));
    for (const answer of answers) expectClean('answer', answer);
    for (const line of lines) expectClean('log', json(line));
  });
});

it('no table has a credential in clear text', async () => {
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
