import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';

let test: TestApi;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
});
afterAll(() => test.close());

it('the reference is a page of this origin alone, with a policy that allows nothing unsafe', async () => {
  const { status, headers, body } = await test.call('GET', '/docs');
  expect(status).toBe(200);
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toContain("script-src 'self'");
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  expect(headers.get('x-frame-options')).toBe('DENY');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(body).not.toMatch(/https?:\/\/|<script>|style=|\son\w+=/);
  for (const [, address] of body.matchAll(/(?:src|href)="(\/[^"]+)"/g)) {
    const asset = await test.call('GET', address);
    expect([address, asset.status, asset.headers.get('cache-control')]).toEqual([
      address,
      200,
      'public, max-age=31536000, immutable',
    ]);
  }
});

it.each(['index.html', 'package.json', 'swagger-ui-bundle.js.map', '..%2froutes%2fkeys.ts', 'reference.ts'])(
  'no other file is served: %s',
  async (file) => {
    expect((await test.call('GET', `/docs/assets/${file}`)).status).toBe(404);
  },
);
