import cors from '@koa/cors';
import type { RequestMiddleware } from '../request-state.ts';

/** Response headers exposed to other origins, in addition to those that every page may read. */
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
 * Let pages of these origins call the API from a browser (CORS). They must send an API key or token in `Authorization`;
 * cookies from another origin are never accepted. Requests from other origins get no CORS headers, so that browsers
 * block them.
 * @param origins `https://app.example.com`, or `*` for all
 */
export function allowOrigins(origins: readonly string[]): RequestMiddleware {
  const allowed = new Set(origins);
  return cors({
    // For a falsy value, a request continues without CORS headers, and a preflight fails.
    origin: ({ req }) => {
      const origin = req.headers.origin ?? '';
      return allowed.has('*') ? '*' : allowed.has(origin) ? origin : '';
    },
    allowMethods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposeHeaders: EXPOSED,
    maxAge: 600,
  }) as RequestMiddleware;
}
