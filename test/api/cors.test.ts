import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/platform/config.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { makeDataDir } from '../support/appliance.ts';

const APP = 'https://app.example.com';
let test: TestApi;
let closed: TestApi;
let key: string;
beforeAll(async () => {
  const settings = { server: { cors_origins: [APP, 'http://localhost:5173'] } };
  test = await openTestApi({ worker: false, settings });
  closed = await openTestApi({ worker: false });
  key = await test.key({ scopes: ['embed'] });
});
afterAll(async () => {
  await test.close();
  await closed.close();
});

const preflight = (api: TestApi, origin: string) =>
  api.call('OPTIONS', '/v1/embeddings', {
    headers: {
      Origin: origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization, content-type',
    },
  });

it('a page of a listed origin may call the API, and read the headers of its answers', async () => {
  const asked = await preflight(test, APP);
  expect(asked.status).toBe(204);
  expect(asked.headers.get('access-control-allow-origin')).toBe(APP);
  expect(asked.headers.get('access-control-allow-methods')).toContain('POST');
  expect(asked.headers.get('access-control-allow-headers')).toBe('authorization, content-type');
  expect(asked.headers.get('access-control-max-age')).toBe('600');
  expect(asked.headers.get('x-content-type-options')).toBe('nosniff');
  expect(asked.headers.get('x-request-id')).toMatch(/^req_/);
  const answer = await test.call('POST', '/v1/embeddings', { key, json: { input: 'x' }, headers: { Origin: APP } });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('access-control-allow-origin')).toBe(APP);
  expect(answer.headers.get('access-control-expose-headers')).toContain('X-Request-Id');
  // No cookie is ever sent to the API from another origin.
  expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
  expect(answer.headers.get('vary')).toContain('Origin');
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
});

it('errors have the CORS headers too, so that a page can show them', async () => {
  for (const [method, path, status] of [
    ['POST', '/v1/embeddings', 401],
    ['GET', '/v1/nothing', 404],
    ['DELETE', '/v1/embeddings', 405],
  ] as const) {
    const answer = await test.call(method, path, { headers: { Origin: APP } });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([status, APP]);
  }
});

it.each(['https://evil.example.com', 'https://app.example.com.evil.com', 'http://app.example.com', 'null', ''])(
  'a page of the origin "%s" gets no CORS headers',
  async (origin) => {
    const asked = await preflight(test, origin);
    expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([405, null]);
    const answer = await test.call('GET', '/healthz', { headers: { Origin: origin } });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, null]);
  },
);

it('without a setting no page of another origin may call the API', async () => {
  const asked = await preflight(closed, APP);
  expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([405, null]);
});

it.each(['app.example.com', 'https://app.example.com/', 'https://App.example.com', 'ftp://x', 'https://*.example.com'])(
  'the setting refuses %s, which is no origin',
  (origin) => {
    const { dataDir, remove } = makeDataDir();
    const overrides = { data_dir: dataDir, server: { cors_origins: [origin] } };
    expect(() => loadConfig({ env: {}, overrides })).toThrow(/server\.cors_origins.*must be an origin/s);
    remove();
  },
);
