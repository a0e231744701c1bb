import { AppError } from '../../src/platform/errors.ts';
import type { RequestMiddleware } from '../request-state.ts';
import { shownPath } from '../shown-path.ts';

/**
 * Refuse a request that no route matched: 404 for an unknown path, 405 with `Allow` for another method of a known one.
 */
export function refuseUnmatched(): RequestMiddleware {
  return (ctx) => {
    const allowed = [...new Set(ctx.matched?.flatMap((layer) => layer.methods))].sort();
    if (allowed.length === 0) throw unknownRoute(ctx.method, ctx.path);
    ctx.set('Allow', allowed.join(', '));
    throw methodNotAllowed(ctx.method, allowed);
  };
}

function unknownRoute(method: string, path: string): AppError {
  const message = `there is no route ${method} ${shownPath(path)}`;
  return new AppError({ code: 'unknown_route', status: 404, message });
}

function methodNotAllowed(method: string, allowed: readonly string[]): AppError {
  const message = `method ${method} is not allowed here; use ${allowed.join(' or ')}`;
  return new AppError({ code: 'method_not_allowed', status: 405, message });
}
