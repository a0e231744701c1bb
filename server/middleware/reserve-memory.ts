import type { IncomingMessage } from 'node:http';
import { announcesBody } from '../body/body-headers.ts';
import type { BodyMemory } from '../body/body-memory.ts';
import type { RequestMiddleware } from '../request-state.ts';

/**
 * Reserve the memory of a large body until the handler is done with it.
 *
 * @param limitBytes bound of the route's bodies
 */
export function reserveMemory(memory: BodyMemory, limitBytes: number): RequestMiddleware {
  return (ctx, next) => {
    const release = memory.reserve(bodyBytesOf(ctx.req, limitBytes));
    return release === null ? next() : next().finally(release);
  };
}

/**
 * Return the announced bytes of a body, or else the limit. A body beyond the limit counts as 0: it is refused anyway.
 */
function bodyBytesOf(req: IncomingMessage, limitBytes: number): number {
  const announced = req.headers['content-length'];
  if (announced === undefined) return announcesBody(req) ? limitBytes : 0;
  return Number(announced) > limitBytes ? 0 : Number(announced);
}
