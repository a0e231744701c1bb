import { AppError } from '../../src/platform/errors.ts';
import type { RequestMiddleware } from '../request-state.ts';
import { shownPath } from '../shown-path.ts';

/** Paths of pages with a superfluous trailing slash, as people type them. */
const PAGES_WITH_SLASH: ReadonlySet<string> = new Set(['/console/', '/docs/', '/help/']);

/** OpenAI routes that clients use by default but this service lacks, with the alternative. */
const SERVED_INSTEAD: Readonly<Record<string, string>> = {
  '/v1/completions': '/v1/chat/completions',
  '/v1/responses': '/v1/chat/completions',
};

/**
 * Refuse a request that no route matched: 404 for an unknown path, 405 with `Allow` for another method of a known one.
 * Redirect a person who typed a slash after a page's path.
 */
export function refuseUnmatched(): RequestMiddleware {
  return (ctx) => {
    if (PAGES_WITH_SLASH.has(ctx.path) && ctx.method === 'GET') {
      ctx.status = 308;
      ctx.set('Location', ctx.path.slice(0, -1) + ctx.search);
      return;
    }
    const allowed = [...new Set(ctx.matched?.flatMap((layer) => layer.methods))].sort();
    if (allowed.length === 0) throw unknownRoute(ctx.method, ctx.path);
    ctx.set('Allow', allowed.join(', '));
    throw methodNotAllowed(ctx.method, allowed);
  };
}

function unknownRoute(method: string, path: string): AppError {
  const instead = SERVED_INSTEAD[path];
  const hint = instead === undefined ? '' : `; choose the API ${instead} in the client`;
  const message = `there is no route ${method} ${shownPath(path)}${hint}`;
  return new AppError({ code: 'unknown_route', status: 404, message });
}

function methodNotAllowed(method: string, allowed: readonly string[]): AppError {
  const message = `method ${method} is not allowed here; use ${allowed.join(' or ')}`;
  return new AppError({ code: 'method_not_allowed', status: 405, message });
}
