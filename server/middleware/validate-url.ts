import { invalidRequest } from '../../src/platform/errors.ts';
import type { RequestMiddleware } from '../request-state.ts';
import type { Route } from '../route.ts';
import { validate } from '../validate.ts';

/** Validate path parameters and query parameters, and refuse NUL in them. Throws AppError 400. */
export function validateUrl({ params, query }: Route): RequestMiddleware {
  if (params === undefined && query === undefined) return (_ctx, next) => next();
  return (ctx, next) => {
    const url = ctx.req.url ?? '';
    // PostgreSQL text can't contain NUL, and no name in this API does.
    if (url.includes('%00')) throw invalidRequest('the URL must not contain NUL');
    if (params !== undefined) ctx.state.params = validate(params, ctx.params);
    if (query !== undefined) ctx.state.query = validate(query, parseQuery(url));
    return next();
  };
}

/** Parse the query parameters. A repeated one becomes an array. */
function parseQuery(url: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null);
  const mark = url.indexOf('?');
  if (mark === -1) return query;
  for (const [name, value] of new URLSearchParams(url.slice(mark + 1))) {
    const earlier = query[name];
    query[name] = earlier === undefined ? value : [earlier, value].flat();
  }
  return query;
}
