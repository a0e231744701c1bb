import { Readable } from 'node:stream';
import type { ReplyMemory } from '../reply-memory.ts';
import type { RequestContext, RequestMiddleware } from '../request-state.ts';
import type { RouteReply } from '../route.ts';
import { isSliced, slicedBody } from '../sliced-body.ts';

/**
 * Write the reply to Koa's response after all later middleware has run.
 * @throws AppError `server_busy` (503) if the organization has too many large unread replies
 */
export function writeReply(memory: ReplyMemory): RequestMiddleware {
  return async (ctx, next) => {
    await next();
    const { state } = ctx;
    const { reply } = state;
    // The client may read slowly, so release the state of the request first.
    state.reply = null;
    state.body = undefined;
    if (reply !== null) write(ctx, reply, memory);
  };
}

function write(ctx: RequestContext, reply: RouteReply, memory: ReplyMemory): void {
  const { status, headers, type, freeBody, isShared = false } = reply;
  if (ctx.headerSent || ctx.state.clientIsGone) {
    if (reply.body instanceof Readable) reply.body.destroy();
    return;
  }
  if (reply.body === undefined) {
    ctx.set(headers ?? {});
    ctx.body = null;
    // Without a body Koa sets 204, also for a redirection.
    ctx.status = status ?? 204;
    return;
  }
  const isJson = !Buffer.isBuffer(reply.body) && !(reply.body instanceof Readable);
  const body = isJson ? JSON.stringify(reply.body) : (reply.body as Buffer | Readable);
  if (!isShared && !(body instanceof Readable)) {
    try {
      memory.hold(ctx.state.caller?.orgId ?? null, memoryOf(body), ctx.res);
    } catch (error) {
      freeBody?.();
      throw error;
    }
  }
  ctx.set(headers ?? {});
  ctx.status = status ?? 200;
  ctx.set('Content-Type', isJson ? 'application/json; charset=utf-8' : (type ?? 'application/octet-stream'));
  // This also covers a closed connection, which emits no `finish`.
  if (freeBody) ctx.res.once('close', freeBody);
  if (isShared && Buffer.isBuffer(body) && isSliced(body)) {
    ctx.body = slicedBody(body);
    ctx.length = body.length;
    return;
  }
  ctx.body = body;
}

/** Return the memory that a body takes. A printed body has a Buffer of up to twice its length. */
function memoryOf(body: string | Buffer): number {
  return Buffer.isBuffer(body) ? body.buffer.byteLength : Buffer.byteLength(body);
}
