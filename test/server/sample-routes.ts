import { z } from 'zod';
import { defineRoute, type Route } from '../../server/route.ts';

export const echo = defineRoute({
  method: 'POST',
  path: '/v1/embeddings',
  operationId: 'echo',
  summary: 'Returns its input',
  access: 'embed',
  errors: 'embedding',
  reads: 'json',
  body: z.object({ input: z.union([z.string(), z.array(z.string())]), dimensions: z.int().min(1).optional() }),
  responses: { 200: { description: 'Echo' } },
  async handle({ body, caller, requestId }) {
    return { body: { body, actor: caller.actor, requestId }, headers: { 'X-Extra': 'yes' } };
  },
});

export const bucket = defineRoute({
  method: 'GET',
  path: '/v1/buckets/:bucket',
  operationId: 'getBucket',
  summary: 'Params and query',
  access: 'caller',
  errors: 'detail',
  reads: 'none',
  params: z.object({ bucket: z.string() }),
  query: z.object({ limit: z.coerce.number().int().min(1).max(200).default(50), tag: z.string().array().optional() }),
  responses: {},
  async handle({ params, query }) {
    return { body: { params, query } };
  },
});

export const deleteBucket = defineRoute({
  method: 'DELETE',
  path: '/v1/buckets/:bucket',
  operationId: 'deleteBucket',
  summary: 'No content',
  access: 'buckets:manage',
  errors: 'detail',
  reads: 'none',
  params: z.object({ bucket: z.string() }),
  responses: {},
  async handle() {
    return {};
  },
});

export const statistics = defineRoute({
  method: 'GET',
  path: '/v1/buckets/statistics',
  operationId: 'statistics',
  summary: 'A literal path beside a parameter',
  access: 'public',
  errors: 'detail',
  reads: 'none',
  responses: {},
  async handle({ caller }) {
    return { body: { caller, literal: true } };
  },
});

/** Make a route that throws a given value. */
export function failing(thrown: unknown, errors: Route['errors'] = 'detail', path = '/fails'): Route {
  return defineRoute({
    method: 'GET',
    path,
    operationId: `fails ${path}`,
    summary: 'Throws',
    access: 'public',
    errors,
    reads: 'none',
    responses: {},
    async handle() {
      throw thrown;
    },
  });
}

/** Make a route that waits for its signal. */
export function hanging(): { waiting: Promise<AbortSignal>; route: Route } {
  const { promise, resolve } = Promise.withResolvers<AbortSignal>();
  const route = defineRoute({
    method: 'GET',
    path: '/hangs',
    operationId: 'hangs',
    summary: 'Waits',
    access: 'public',
    errors: 'detail',
    reads: 'none',
    responses: {},
    async handle({ signal }) {
      resolve(signal);
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      return {};
    },
  });
  return { waiting: promise, route };
}

/** Headers with a key that has the scope of `echo`. */
export const auth = { Authorization: 'Bearer embed' };
