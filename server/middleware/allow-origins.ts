import cors from '@koa/cors';
import type { RequestMiddleware } from '../request-state.ts';

/** Headers of responses that pages of other origins may read, beside those that every page may. */
const EXPOSED = [
  'X-Request-Id',
  'Retry-After',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Content-Disposition',
  'Idempotency-Replayed',
  'X-Service-Warning',
  'X-Service-Projection',
  'X-Service-Effective-Dimensions',
  'Deprecation',
  'Sunset',
  'Link',
];

/**
 * Let pages of these origins call the API from a browser (CORS). They send an API key or a token in `Authorization`;
 * cookies are never accepted from another origin. Requests of other origins get no CORS headers, so that browsers refuse
 * them.
 *
 * @param origins `https://app.example.com`, or `*` for all
 */
export function allowOrigins(origins: readonly string[]): RequestMiddleware {
  const allowed = new Set(origins);
  return cors({
    // Falsy: the request goes on without CORS headers, a preflight to the refusal of its method.
    origin: ({ req }) => {
      const origin = req.headers.origin ?? '';
      return allowed.has('*') ? '*' : allowed.has(origin) ? origin : '';
    },
    allowMethods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposeHeaders: EXPOSED,
    maxAge: 600,
  }) as RequestMiddleware;
}
