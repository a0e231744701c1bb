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
  const { res, state } = ctx;
  const { body } = reply;
  if (res.headersSent || state.clientIsGone) {
    if (body instanceof Readable) body.destroy();
    return;
  }
  const status = reply.status ?? (body === undefined ? 204 : 200);
  const headers = state.headers.copy();
  headers.setAll(reply.headers);
  if (body === undefined) {
    headers.applyTo(res);
    ctx.body = null;
    // Without a body Koa sets 204, also for a redirection.
    ctx.status = status;
    return;
  }
  const isJson = !Buffer.isBuffer(body) && !(body instanceof Readable);
  const content = isJson ? JSON.stringify(body) : body;
  const ownType = reply.type ?? 'application/octet-stream';
  headers.set('Content-Type', isJson ? 'application/json; charset=utf-8' : ownType);
  if (reply.freeBody) res.once('finish', reply.freeBody);
  if (content instanceof Readable || !isWrittenHere(ctx)) {
    ctx.status = status;
    headers.applyTo(res);
    ctx.body = content;
    return;
  }
  headers.set('Content-Length', String(Buffer.byteLength(content)));
  res.writeHead(status, headers.list).end(content);
  ctx.respond = false;
}

/**
 * Return true if a response can be written at once. Koa writes the others: those that have no body, that have a header which was set
 * on the response itself, or that are changed after the reply (`close-unread`).
 */
function isWrittenHere({ method, res, state }: RequestContext): boolean {
  return method !== 'HEAD' && !state.bodyIsPending && res.getHeaderNames().length === 0;
}
