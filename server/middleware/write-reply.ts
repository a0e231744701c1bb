import { Readable } from 'node:stream';
import type { RequestContext, RequestMiddleware } from '../request-state.ts';
import type { RouteReply } from '../route.ts';

/** Write the reply to Koa's response after all later middleware has run. */
export function writeReply(): RequestMiddleware {
  return async (ctx, next) => {
    await next();
    const { state } = ctx;
    const { reply } = state;
    // The client may read slowly, so release the state of the request first.
    state.reply = null;
    state.body = undefined;
    if (reply !== null) write(ctx, reply);
  };
}

function write(ctx: RequestContext, { status, headers, type, body, freeBody }: RouteReply): void {
  if (ctx.headerSent || ctx.state.clientIsGone) {
    if (body instanceof Readable) body.destroy();
    return;
  }
  ctx.set(headers ?? {});
  if (body === undefined) {
    ctx.body = null;
    // Without a body Koa sets 204, also for a redirection.
    ctx.status = status ?? 204;
    return;
  }
  const isJson = !Buffer.isBuffer(body) && !(body instanceof Readable);
  ctx.status = status ?? 200;
  ctx.set('Content-Type', isJson ? 'application/json; charset=utf-8' : (type ?? 'application/octet-stream'));
  if (freeBody) ctx.res.once('finish', freeBody);
  ctx.body = isJson ? JSON.stringify(body) : body;
}
