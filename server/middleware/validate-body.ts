import type { RequestMiddleware } from '../request-state.ts';
import type { Route } from '../route.ts';
import { validate } from '../validate.ts';

/** Replace the body as sent by the output of the route's schema, or of the route's own parser. */
export function validateBody({ body: schema, parse }: Route): RequestMiddleware {
  if (parse !== undefined) {
    return async (ctx, next) => {
      ctx.state.body = await parse(ctx.state.body as Buffer, ctx.state.signal);
      await next();
    };
  }
  return (ctx, next) => {
    if (schema !== undefined) ctx.state.body = validate(schema, ctx.state.body);
    return next();
  };
}
