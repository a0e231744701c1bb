import cors from '@koa/cors';
import type { RequestMiddleware } from '../request-state.ts';

/** Response headers that pages of other origins may read, in addition to those that every page may read. */
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
  'X-Read-Staleness',
  'Deprecation',
  'Sunset',
  'Link',
];

/**
 * Let pages of these origins call the API from a browser (CORS). They send an API key or a token in `Authorization`;
 * cookies are never accepted from another origin. Requests of other origins get no CORS headers, so that browsers
 * refuse them.
 * @param origins `https://app.example.com`, or `*` for all
 */
export function allowOrigins(origins: readonly string[]): RequestMiddleware {
  const allowed = new Set(origins);
  return cors({
    // A falsy value makes the request continue without CORS headers, and refuses the method of a preflight.
    origin: ({ req }) => {
      const origin = req.headers.origin ?? '';
      return allowed.has('*') ? '*' : allowed.has(origin) ? origin : '';
    },
    allowMethods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposeHeaders: EXPOSED,
    maxAge: 600,
  }) as RequestMiddleware;
}
