import { Readable } from 'node:stream';
import type { RequestContext, RequestMiddleware } from '../request-state.ts';
import type { RouteReply } from '../route.ts';

/** Write the reply to Koa's response after all later middleware has run. */
export function writeReply(): RequestMiddleware {
  return async (ctx, next) => {
    await next();
    const { state } = ctx;
    const { reply } = state;
    // The client may read slowly, so the state of the request is released before.
    state.reply = null;
    state.body = undefined;
    if (reply !== null) write(ctx, reply);
  };
}

function write(ctx: RequestContext, reply: RouteReply): void {
  const { res } = ctx;
  const { body } = reply;
  if (res.headersSent || ctx.state.clientIsGone) {
    if (body instanceof Readable) body.destroy();
    return;
  }
  const status = reply.status ?? (body === undefined ? 204 : 200);
  ctx.status = status;
  for (const name in reply.headers) res.setHeader(name, reply.headers[name] ?? '');
  if (body === undefined) {
    ctx.body = null;
    // Without a body Koa sets 204, also for a redirection.
    ctx.status = status;
  } else if (Buffer.isBuffer(body) || body instanceof Readable) {
    res.setHeader('Content-Type', reply.type ?? 'application/octet-stream');
    ctx.body = body;
    if (reply.freeBody) res.once('finish', reply.freeBody);
  } else {
    res.setHeader('Content-Type', 'application/json; charset=utf-8');
    ctx.body = JSON.stringify(body);
  }
}
