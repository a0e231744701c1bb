import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';

let test: TestApi;
beforeAll(async () => {
  test = await openTestApi({
    worker: false,
    settings: {
      providers: {
        'vendor-d': { protocol: 'tei', base_url: 'http://127.0.0.1:9/tei', api_key: 'a-key-of-the-vendor' },
      },
      models: [{ id: 'vendor-a/text-embedding-3-small', price_per_million: 0.02 }],
    },
  });
});
afterAll(() => test.close());

it('vendors tell their protocol, if they are set up, and prices, and neither address nor key', async () => {
  const { status, body } = await test.call('GET', '/v1/vendors', { key: await test.key({ scopes: ['search'] }) });
  expect(status).toBe(200);
  const vendor = (name: string) => body.data.find((each: { name: string }) => each.name === name);
  expect(vendor('vendor-d')).toMatchObject({ protocol: 'tei', is_set_up: true });
  expect(vendor('vendor-a')).toMatchObject({ protocol: 'openai', is_set_up: false });
  expect(vendor('vendor-f')).toMatchObject({ protocol: null, is_set_up: false });
  expect(vendor('vendor-a').models).toContainEqual({ id: 'vendor-a/text-embedding-3-small', price_per_million: 0.02 });
  expect(body.data.map(({ name }: { name: string }) => name)).not.toContain('local');
  expect(JSON.stringify(body)).not.toMatch(/a-key-of-the-vendor|127\.0\.0\.1/);
});
