import type { z } from 'zod';
import type { Threads } from '../../src/platform/threads.ts';
import { parseJsonBody } from '../body/parse-on-thread.ts';
import type { RequestMiddleware } from '../request-state.ts';
import type { Route } from '../route.ts';
import { refuseUnknownFields } from '../unknown-fields.ts';
import { validate } from '../validate.ts';
import { nameValues } from './read-json.ts';

/**
 * Replace the raw body by the output of the route's schema or of its own parser. Parse an unparsed body on a thread.
 */
export function validateBody(route: Route, threads: Threads): RequestMiddleware {
  const { body: schema, parse } = route;
  const check = (of: z.ZodType, body: unknown) => {
    if (route.refusesUnknownFields) refuseUnknownFields(of, body);
    return validate(of, body);
  };
  return (ctx, next) => {
    const { body } = ctx.state;
    if (Buffer.isBuffer(body)) return parseThenValidate(ctx, next, body);
    if (schema !== undefined) ctx.state.body = check(schema, body);
    return next();
  };

  async function parseThenValidate(
    ctx: Parameters<RequestMiddleware>[0],
    next: Parameters<RequestMiddleware>[1],
    bytes: Buffer,
  ): Promise<void> {
    const { signal } = ctx.state;
    try {
      if (parse !== undefined) ctx.state.body = await parse(bytes, signal);
      else if (schema !== undefined)
        ctx.state.body = check(schema, await parseJsonBody(threads, bytes, signal, route.bodyValuesMax));
    } catch (error) {
      throw nameValues(route, error);
    }
    await next();
  }
}
