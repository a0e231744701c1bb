import type { Embedding } from '../../src/embedding/open-embedding.ts';
import { RoutingRequest, RoutingView } from '../../src/embedding/routing.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { warnOfOtherModels } from '../../src/search/bucket-model.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { defineRoute, type Route } from '../route.ts';

export function routingRoutes(sql: Sql, { routing, backends }: Pick<Embedding, 'routing' | 'backends'>): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/routing',
      operationId: 'getRouting',
      summary: 'Model for requests without a model, and its fallback',
      access: 'caller',
      errors: 'embedding',
      responses: { 200: { description: 'The organization’s routing', schema: RoutingView } },
      async handle({ caller }) {
        return { body: await routing.view(caller) };
      },
    }),
    defineRoute({
      method: 'PUT',
      path: '/v1/routing',
      operationId: 'setRouting',
      summary: 'Choose the primary model and its fallback',
      access: 'routing:manage',
      errors: 'embedding',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      body: RoutingRequest,
      responses: { 200: { description: 'The stored routing, with warnings', schema: RoutingView } },
      async handle({ body, caller }) {
        const view = await routing.set(caller, body);
        const others = await warnOfOtherModels({ sql, backends }, caller, view.primary);
        return { body: { ...view, warnings: [...view.warnings, ...others] } };
      },
    }),
  ];
}
