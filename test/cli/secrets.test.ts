import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { makeDataDir } from '../support/appliance.ts';
import { CANARY, CANARY_MODELS, canarySettings, expectClean } from '../support/canary.ts';
import { EchoUpstream } from '../support/echo-upstream.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { redisAvailable, startRedis } from '../support/redis.ts';
import { type Finished, runCommand } from './service.ts';

// Commands never print a credential of the settings, for any response of the vendors.
let database: TestDatabase;
let dataDir: ReturnType<typeof makeDataDir>;
let upstream: EchoUpstream;

beforeAll(async () => {
  database = await createTestDatabase();
  dataDir = makeDataDir();
  upstream = await EchoUpstream.start();
  const body = (key: string) => JSON.stringify({ error: { message: `Incorrect API key provided: ${key}`, code: key } });
  upstream.echo = { status: 401, body };
});
afterAll(async () => {
  await upstream.close();
  await database.drop();
  dataDir.remove();
});

/** Run a command with these settings and the most verbose log level. */
function run(args: string[], settings: string): Promise<Finished> {
  const file = path.join(dataDir.dataDir, 'settings.yaml');
  writeFileSync(file, settings);
  const env = { SERVICE_CONFIG: file, SERVICE_DATA_DIR: dataDir.dataDir, DATABASE_URL: database.url };
  return runCommand(args, { ...env, SERVICE_LOG_LEVEL: 'trace' });
}

function expectNoSecrets(what: string, { stdout, stderr }: Finished): void {
  expectClean(`stdout of ${what}`, stdout);
  expectClean(`stderr of ${what}`, stderr);
}

describe('while every vendor repeats its key', () => {
  it.each([
    [['config', 'check'], 0],
    [['config', 'check', '--json'], 0],
    [['doctor'], 5],
    [['doctor', '--json'], 5],
    [['models', 'test', ...CANARY_MODELS], 5],
    [['models', 'test', '--all', '--json'], 5],
    [['models', 'list', '--json'], 0],
    [['routing', 'get', '--json'], 0],
    [['usage', '--json'], 0],
    [['embed', 'a text', '--model', 'vendor-a/text-embedding-3-small'], 5],
    [['search', 'a text', '--json'], 0],
  ])('%j prints no credential although every vendor repeats its key', async (args, code) => {
    const finished = await run(args, stringify(canarySettings(upstream.url)));
    expect([finished.code, finished.stderr]).toEqual([code, expect.any(String)]);
    expectNoSecrets(args.join(' '), finished);
  });

  it('the keys were sent to the vendors', () => {
    const { openaiTwo: _second, redis: _redis, cron: _cron, vision: _vision, awsSecret: _aws, ...sent } = CANARY;
    for (const key of Object.values(sent)) expect(upstream.credentials).toContain(key);
  });
});

it.skipIf(!redisAvailable())('a password that Redis refuses is not printed', async () => {
  const redis = await startRedis({ password: 'another' });
  try {
    const settings = stringify({ redis_url: redis.url.replace('another', CANARY.redis) });
    const doctor = await run(['doctor', '--json'], settings);
    expect(doctor.code).toBe(5);
    const found = doctor.json().checks.find((check: { name: string }) => check.name === 'redis');
    expect(found).toMatchObject({ status: 'down' });
    expectNoSecrets('doctor', doctor);
    expectNoSecrets('embed', await run(['embed', 'a text', '--json'], settings));
  } finally {
    await redis.drop();
  }
});

describe('settings that are not valid', () => {
  const key = CANARY.jina;
  const vendor = (more: object) => ({
    providers: { 'vendor-a': { protocol: 'openai', base_url: 'http://h/v1', ...more } },
  });
  it.each<[string, object | string, string]>([
    ['a key for a protocol', vendor({ protocol: key }), 'providers.vendor-a.protocol'],
    ['a key in a URL', vendor({ base_url: `http://user:${key}@h/v1` }), 'providers.vendor-a.base_url'],
    ['a key in a query', vendor({ base_url: `http://h/v1?key=${key}` }), 'providers.vendor-a.base_url'],
    ['a key for a URL', vendor({ base_url: key }), 'providers.vendor-a.base_url'],
    ['a key under another name', vendor({ key }), 'providers.vendor-a'],
    ['a list of keys', vendor({ api_key: [key] }), 'providers.vendor-a.api_key'],
    ['an endpoint that is a key', vendor({ base_url: undefined, endpoints: [key] }), 'endpoints.0'],
    ['a key for a number', vendor({ api_key: key, concurrency_max: key }), 'concurrency_max'],
    ['a key for the models', vendor({ api_key: key, models: key }), 'providers.vendor-a.models'],
    ['a key for a provider', { providers: { 'vendor-a': key } }, 'providers.vendor-a'],
    ['a key for all providers', { providers: key }, 'providers'],
    [
      'a vision model without a model',
      { vision: { protocol: 'openai', base_url: 'http://h', api_key: key } },
      'vision',
    ],
    ['a secret that is too short', { secret_key: key }, 'secret_key'],
    ['broken YAML', `providers: {vendor-a: {api_key: "${key}`, 'YAML'],
    ['a variable that is not set', `providers: {vendor-a: {api_key: "${key}\${NOT_SET}"}}`, 'NOT_SET'],
  ])('config check shows the place of %s, and not its value', async (what, settings, place) => {
    const text = typeof settings === 'string' ? settings : stringify(settings);
    const finished = await run(['config', 'check', '--json'], text);
    expect([finished.code, finished.stderr]).toEqual([2, expect.stringContaining(place)]);
    expectNoSecrets(what, finished);
  });
});
