import { AppError, invalidRequest } from '../../src/platform/errors.ts';
import { announcesBody, isJson, unsupportedType } from '../body/body-headers.ts';
import { TOO_MANY_VALUES } from '../body/check-json-shape.ts';
import { jsonBodyReader } from '../body/json-body-reader.ts';
import { parseJsonObject, VALUES_MAX } from '../body/parse-json.ts';
import { INLINE_BYTES_MAX } from '../body/parse-on-thread.ts';
import type { RequestMiddleware } from '../request-state.ts';
import { acceptsNoBody, type Route } from '../route.ts';

/**
 * Check the announced type and size of a body, then read it. Parse a small body. A large body, or one of a route with
 * its own parser, stays unparsed until `validate-body` parses it on a thread. Throws AppError 400, 413, 415, 503,
 * `client_gone`.
 * @param limitBytes maximum size of the route's bodies
 */
export function readJson(route: Route, limitBytes: number): RequestMiddleware {
  const allowsEmpty = acceptsNoBody(route);
  const staysBytes = route.parse !== undefined;
  const { bodyValuesMax: valuesMax = VALUES_MAX } = route;
  const read = jsonBodyReader({ limitBytes, valuesMax, allowsEmpty: allowsEmpty && !staysBytes });
  return async (ctx, next) => {
    if (!allowsEmpty || announcesBody(ctx.req)) {
      if (!isJson(ctx.req.headers['content-type'])) throw unsupportedType('application/json');
      try {
        const bytes = await read(ctx);
        ctx.state.body = bytes === null ? undefined : staysBytes ? bytes : parsedIfSmall(bytes, valuesMax);
      } catch (error) {
        throw nameValues(route, error);
      }
    }
    await next();
  };
}

/** If a body has too many values, name the route's field for them in the error. */
export function nameValues({ tooManyValues }: Pick<Route, 'tooManyValues'>, error: unknown): unknown {
  if (tooManyValues === undefined || !(error instanceof AppError) || error.code !== TOO_MANY_VALUES) return error;
  const { param, message } = tooManyValues;
  return invalidRequest(`${param}: ${message}`, param);
}

/** @throws AppError 400 */
export function parsedIfSmall(bytes: Buffer, valuesMax: number): unknown {
  return bytes.length <= INLINE_BYTES_MAX ? parseJsonObject(bytes, valuesMax) : bytes;
}
