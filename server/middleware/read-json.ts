import { announcesBody, isJson, unsupportedType } from '../body/body-headers.ts';
import { jsonBodyReader } from '../body/json-body-reader.ts';
import type { RequestMiddleware } from '../request-state.ts';
import { acceptsNoBody, type Route } from '../route.ts';

/**
 * Check the announced type and size of a body, then read it: as JSON, or as bytes for a route with its own parser.
 * Throws AppError 400, 413, 415, `client_gone`.
 *
 * @param limitBytes bound of the route's bodies
 */
export function readJson(route: Route, limitBytes: number): RequestMiddleware {
  const allowsEmpty = acceptsNoBody(route);
  const asBytes = route.parse !== undefined;
  const read = jsonBodyReader({ limitBytes, asBytes, allowsEmpty: allowsEmpty && !asBytes });
  return async (ctx, next) => {
    if (!allowsEmpty || announcesBody(ctx.req)) {
      if (!isJson(ctx.req.headers['content-type'])) throw unsupportedType('application/json');
      ctx.state.body = await read(ctx);
    }
    await next();
  };
}
