import { expect, test } from 'vitest';
import { type AccessPolicy, defineRoute } from '../../../server/route.ts';
import { SCOPES } from '../../../src/access/caller.ts';
import { startTestServer } from '../support.ts';

test('a route refuses requests without a key, and keys without its scope, unless it is public', async () => {
  const policies: AccessPolicy[] = ['public', 'caller', ...SCOPES];
  const routes = policies.map((access, i) =>
    defineRoute({
      method: 'GET',
      path: `/r${i}`,
      operationId: access,
      summary: access,
      access,
      errors: 'detail',
      reads: 'none',
      responses: {},
      async handle() {
        return { body: {} };
      },
    }),
  );
  const server = await startTestServer(routes);
  for (const route of routes) {
    const get = async (authorization?: string) => {
      const headers = authorization === undefined ? {} : { Authorization: authorization };
      return fetch(server.url + route.path, { headers });
    };
    const anonymous = await get();
    const wrong = await get('Basic abc');
    const known = await get('Bearer none');
    if (route.access === 'public') {
      expect([anonymous.status, wrong.status, known.status]).toEqual([200, 200, 200]);
      continue;
    }
    expect([anonymous.status, wrong.status]).toEqual([401, 401]);
    expect(anonymous.headers.get('www-authenticate')).toBe('Bearer');
    expect(known.status).toBe(route.access === 'caller' ? 200 : 403);
    expect((await get(`Bearer ${route.access}`)).status).toBe(200);
  }
});
