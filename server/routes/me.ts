import { CallerDescription, describeCaller } from '../../src/access/describe-caller.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { reportQueries } from '../limited-queries.ts';
import { defineRoute, type Route } from '../route.ts';

export function meRoutes(sql: Sql): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/me',
      operationId: 'getMe',
      summary: 'Identity and rights of the key or token',
      access: 'caller',
      responses: { 200: { description: 'The caller', schema: CallerDescription } },
      handle: async ({ caller, signal }) => ({ body: await describeCaller(reportQueries(sql, signal), caller) }),
    }),
  ];
}
