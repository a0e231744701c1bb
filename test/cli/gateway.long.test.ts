import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import {
  CANARY_KEY,
  KOREAN,
  LARGE,
  MULTILINGUAL,
  openTestGateway,
  SMALL,
  type TestGateway,
} from '../support/gateway.ts';
import { type Finished, runCommand } from './service.ts';

// The commands routing, models and usage, beside an API on the same installation.
const plans = { enterprise: { quotas: { embed: 500 } } };

let test: TestGateway;
let key: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  test = await openTestGateway({ plans });
  key = await test.key({ scopes: ['embed', 'routing:manage'] });
  const { upstream, korean } = test;
  const file = path.join(test.dataDir, 'settings.yaml');
  const rules = { timeout_seconds: 5, retries_max: 0 };
  const providers = {
    'vendor-a': { protocol: 'openai', base_url: upstream.baseUrl('openai'), api_key: CANARY_KEY, ...rules },
    'vendor-d': { protocol: 'tei', base_url: korean.baseUrl('tei'), ...rules },
    'vendor-e': { protocol: 'jina', base_url: upstream.baseUrl('jina'), api_key: CANARY_KEY, ...rules },
  };
  writeFileSync(file, stringify({ providers, plans }));
  env = { SERVICE_CONFIG: file, SERVICE_DATA_DIR: test.dataDir, DATABASE_URL: test.databaseUrl };
});
afterAll(() => test.close());
afterEach(() => {
  test.upstream.decide = () => null;
  test.korean.decide = () => null;
  expect([...test.upstream.violations, ...test.korean.violations]).toEqual([]);
});

const service = (...args: string[]): Promise<Finished> => runCommand(args, env);
const json = async (...args: string[]) => {
  const finished = await service(...args, '--json');
  expect([finished.code, finished.stderr]).toEqual([0, expect.any(String)]);
  return finished.json();
};
const get = async (at: string) => (await test.call('GET', at, { key })).body;

describe('routing', () => {
  it('routing get --json prints the response of GET /v1/routing, before and after a change', async () => {
    expect(await json('routing', 'get')).toEqual(await get('/v1/routing'));
    await test.call('PUT', '/v1/routing', { key, json: { primary: SMALL, fallback: KOREAN, mode: 'fallback' } });
    const shown = await json('routing', 'get');
    expect(shown).toEqual(await get('/v1/routing'));
    expect(shown).toMatchObject({ primary: SMALL, fallback: KOREAN, mode: 'fallback' });
  });

  it('routing set --json prints the response of PUT /v1/routing, and the API uses it', async () => {
    const set = await json('routing', 'set', LARGE, '--fallback', MULTILINGUAL);
    expect(set).toMatchObject({ primary: LARGE, fallback: MULTILINGUAL, mode: 'fallback' });
    expect(await get('/v1/routing')).toEqual(set);
    expect(await json('routing', 'set', KOREAN)).toMatchObject({ primary: KOREAN, fallback: null, mode: 'single' });
    const idle = await json('routing', 'set', KOREAN, '--fallback', SMALL, '--routing-mode', 'single');
    expect(idle.warnings).toEqual(expect.arrayContaining([expect.stringContaining('not used in mode "single"')]));
    const audit = await test.appliance
      .sql`SELECT actor FROM audit_log WHERE action = 'routing.set' ORDER BY id DESC LIMIT 1`;
    expect(audit[0]?.['actor']).toMatch(/^operator:/);
  });

  it('routing belongs to one organization', async () => {
    await test.appliance.access.createOrganization({ name: 'acme', plan: 'free' });
    const before = await json('routing', 'get');
    expect(await json('routing', 'set', SMALL, '--org', 'acme')).toMatchObject({ primary: SMALL });
    expect(await json('routing', 'get', '--org', 'acme')).toMatchObject({ primary: SMALL });
    expect(await json('routing', 'get')).toEqual(before);
  });

  it('routing set prints fields on stdout and warnings on stderr', async () => {
    const { code, stdout, stderr } = await service('routing', 'set', 'vendor-c/model-4', '--fallback', SMALL);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/primary\s+vendor-c\/model-4/)]);
    expect(stderr).toMatch(/^warning: no provider is configured for vendor-c\/model-4/m);
    expect(stdout).not.toContain('warning');
  });

  it.each([
    [['set'], /primary/i],
    [
      ['set', 'vendor-z/none'],
      /^(service: )?PRIMARY: unknown model "vendor-z\/none"; "service models list" lists the models$/m,
    ],
    [['set', SMALL, '--fallback', 'vendor-z/none'], /--fallback: unknown model "vendor-z\/none"/],
    [['set', SMALL, '--fallback', SMALL], /another model/],
    [['set', SMALL, '--routing-mode', 'fallback'], /--fallback: mode "fallback" needs a fallback model/],
    [['set', SMALL, '--routing-mode', 'random'], /--routing-mode/],
    [['set', SMALL, '--falback', KOREAN], /did you mean --fallback/],
    [['set', SMALL, KOREAN], /argument/i],
    [['get', SMALL], /the argument "\S+" cannot be used; right form: service routing get/],
  ])('routing %j is wrong usage, exits with 2 and changes nothing', async (args, words) => {
    const before = await get('/v1/routing');
    const finished = await service('routing', ...args, '--json');
    expect([finished.code, finished.json().error.message]).toEqual([2, expect.stringMatching(words)]);
    expect(finished.stderr).toMatch(words);
    expect(await get('/v1/routing')).toEqual(before);
  });

  it('routing of an unknown organization exits with 3', async () => {
    expect(await service('routing', 'get', '--org', 'nobody')).toMatchObject({ code: 3, stdout: '' });
    expect(await service('routing', 'set', SMALL, '--org', 'nobody')).toMatchObject({ code: 3, stdout: '' });
  });
});

describe('models', () => {
  it('models list --json prints the response of GET /v1/models', async () => {
    expect(await json('models', 'list')).toEqual(await get('/v1/models'));
    const table = await service('models', 'list');
    expect(table.stdout).toMatch(/^MODEL +KIND +DIMENSIONS +MAX TOKENS +AVAILABLE +STATUS +SPACE +MAP +SCORE\n/);
    expect(table.stdout).toMatch(/^vendor-d\/bge-m3-ko +semantic +1024 \(fixed\) +8192 +yes +served /m);
    expect(table.stdout).toMatch(/^vendor-c\/model-4 .* no provider +- /m);
  });

  it('models test makes one real call to each model and reports the result', async () => {
    const calls = test.upstream.calls.length;
    const { data: tests } = await json('models', 'test', SMALL, LARGE, 'local/lexical-1');
    const ok = { status: 'ok', norm: 1, tokens: expect.any(Number), latency_ms: expect.any(Number), error: null };
    expect(tests).toEqual([
      { model: SMALL, dimensions: 1536, ...ok },
      { model: LARGE, dimensions: 3072, ...ok },
      { model: 'local/lexical-1', dimensions: 1024, ...ok },
    ]);
    expect(test.upstream.calls.slice(calls).map((call) => call.model)).toEqual([
      'text-embedding-3-small',
      'text-embedding-3-large',
    ]);
  });

  it('models test --all tests each model with a provider, and is not metered', async () => {
    const before = await get('/v1/usage/summary');
    const { data: tests } = await json('models', 'test', '--all');
    expect(tests.map(({ model, status }: { model: string; status: string }) => [model, status])).toEqual([
      ['service-embed-1-small', 'ok'],
      [SMALL, 'ok'],
      [LARGE, 'ok'],
      [KOREAN, 'ok'],
      [MULTILINGUAL, 'ok'],
      ['local/lexical-1', 'ok'],
      ['local/semantic-1', 'ok'],
    ]);
    expect(await get('/v1/usage/summary')).toEqual(before);
  });

  it('models test calls a model itself, never its fallback, and exits with 5 if one fails', async () => {
    await json('routing', 'set', SMALL, '--fallback', KOREAN);
    test.upstream.decide = () => ({
      kind: 'status',
      status: 401,
      body: { error: { message: 'no', code: 'invalid_api_key' } },
    });
    const finished = await service('models', 'test', SMALL, KOREAN, '--json');
    expect(finished.code).toBe(5);
    const [small, korean] = finished.json().data;
    expect(small).toEqual({
      model: SMALL,
      status: 'failed',
      latency_ms: null,
      dimensions: null,
      norm: null,
      tokens: null,
      error: expect.stringMatching(/vendor-a.*401/),
    });
    expect(korean).toMatchObject({ model: KOREAN, status: 'ok', dimensions: 1024 });
    const people = await service('models', 'test', SMALL);
    expect([people.code, people.stderr]).toEqual([5, expect.stringContaining('401')]);
    expect(people.stdout).toMatch(/^MODEL +STATUS +MS +DIMENSIONS +NORM +TOKENS\n\S+small +failed/);
  });

  it('models test of a model without a provider exits with 5 and reports it', async () => {
    const finished = await service('models', 'test', 'vendor-c/model-4', '--json');
    expect([finished.code, finished.json().data[0].status]).toEqual([5, 'not configured']);
  });

  it.each([
    [['test'], /--all/],
    [['test', '--all', SMALL], /--all/],
    [['test', 'vendor-z/none'], /unknown model .*; "service models list" lists the models/],
    [['test', SMALL, 'vendor-z/none'], /unknown model/],
    [['test', '--al'], /did you mean --all/],
    [['list', SMALL], /the argument "\S+" cannot be used/],
  ])('models %j is wrong usage and exits with 2 before any call', async (args, words) => {
    const calls = test.upstream.calls.length;
    const finished = await service('models', ...args, '--json');
    expect([finished.code, finished.json().error.message]).toEqual([2, expect.stringMatching(words)]);
    expect(test.upstream.calls).toHaveLength(calls);
  });
});

describe('usage', () => {
  beforeAll(async () => {
    const send = (input: unknown, model: string) =>
      test.call('POST', '/v1/embeddings', { key, json: { input, model } });
    expect((await send('a text', SMALL)).status).toBe(200);
    expect((await send(['two', 'texts'], KOREAN)).status).toBe(200);
  });

  it('usage --json prints the response of GET /v1/usage/summary', async () => {
    const summary = await get('/v1/usage/summary');
    expect(summary.axes.embed).toMatchObject({ limit: 500 });
    expect(await json('usage')).toEqual(summary);
    expect(await json('usage', '--from', '2026-01-01', '--to', '2026-02-01')).toEqual(
      await get('/v1/usage/summary?from=2026-01-01&to=2026-02-01'),
    );
  });

  it.each(['day', 'model', 'axis'])('usage --by %s prints bars in plain ASCII if the output is a pipe', async (by) => {
    const { code, stdout } = await service('usage', '--by', by);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[\x20-\x7e\n]+$/);
    expect(stdout).toContain('#');
    if (by === 'model') expect(stdout).toContain(KOREAN);
    if (by === 'axis') expect(stdout).toContain('embed_batch');
  });

  it.each([
    [['--by', 'hour'], 2, /--by/],
    [['--from', 'yesterday'], 2, /^--from must be a date/],
    [['--from', '2026-02-01', '--to', '2026-01-01'], 2, /before/],
    [['--fom', '2026-02-01'], 2, /did you mean --from/],
    [['extra'], 2, /the argument "extra" cannot be used; right form: service usage$/],
    [['--org', 'nobody'], 3, /nobody/],
  ])('usage %j exits with %i', async (args, code, words) => {
    const finished = await service('usage', ...args, '--json');
    expect([finished.code, finished.json().error.message]).toEqual([code, expect.stringMatching(words)]);
  });
});

it.each(['routing get', 'routing set', 'models list', 'models test', 'usage'])(
  '%s --help shows usage and examples',
  async (command) => {
    const { code, stdout } = await service(...command.split(' '), '--help');
    expect(code).toBe(0);
    expect(stdout).toMatch(/USAGE\n {2}\$ service /);
    expect(stdout).toMatch(/EXAMPLES\n/);
    expect(stdout).toContain('--json');
  },
);
