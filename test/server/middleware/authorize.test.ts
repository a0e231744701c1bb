import { expect, test } from 'vitest';
import { type AccessPolicy, defineRoute } from '../../../server/route.ts';
import { SCOPES } from '../../../src/access/caller.ts';
import { startFrame } from '../support.ts';

test('every route of a table refuses nobody known and a key without its scope, unless it is public', async () => {
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
  const frame = await startFrame(routes);
  for (const route of routes) {
    const get = async (authorization?: string) => {
      const headers = authorization === undefined ? {} : { Authorization: authorization };
      return fetch(frame.url + route.path, { headers });
    };
    const nobody = await get();
    const wrong = await get('Basic abc');
    const known = await get('Bearer none');
    if (route.access === 'public') {
      expect([nobody.status, wrong.status, known.status]).toEqual([200, 200, 200]);
      continue;
    }
    expect([nobody.status, wrong.status]).toEqual([401, 401]);
    expect(nobody.headers.get('www-authenticate')).toBe('Bearer');
    expect(known.status).toBe(route.access === 'caller' ? 200 : 403);
    expect((await get(`Bearer ${route.access}`)).status).toBe(200);
  }
});
