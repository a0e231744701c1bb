import type { IncomingMessage } from 'node:http';
import { HttpMethodEnum, koaBody } from 'koa-body';
import { AppError, invalidRequest } from '../../src/platform/errors.ts';
import { bodyTooLarge, clientGone } from '../errors.ts';
import type { RequestContext } from '../request-state.ts';
import { announcesBody, checkBodyHeaders, continueIfExpected } from './body-headers.ts';
import { JsonShape } from './check-json-shape.ts';
import { readLargeBody } from './large-body.ts';

export interface JsonBodySettings {
  /** Limit of the body, counted while it arrives. */
  readonly limitBytes: number;
  /** Advice for the sender of a larger body. */
  readonly advice?: string;
  /** Maximum values in a large body, checked as it arrives; unset if the route parses the body itself. */
  readonly valuesMax?: number | undefined;
  /** Accepted media subtypes; default: those of JSON. */
  readonly types?: readonly string[];
  /** Return null for an empty body instead of failing. */
  readonly allowsEmpty: boolean;
}

/** Size up to which koa-body reads a body. It joins all parts at the end. */
const SMALL_BYTES_MAX = 256 * 1024;

/**
 * Create a reader of JSON bodies for one route. koa-body reads a small body in its text mode without a decoder, because
 * its JSON mode silently replaces invalid UTF-8.
 *
 * The reader returns the unparsed bytes. It throws AppError 400, 413, 415, 503 without memory for the body, or
 * `client_gone`.
 */
export function jsonBodyReader(settings: JsonBodySettings): (ctx: RequestContext) => Promise<Buffer | null> {
  const { limitBytes, advice, allowsEmpty, valuesMax, types = ['json', '+json'] } = settings;
  const readBytes = koaBody({
    json: false,
    urlencoded: false,
    multipart: false,
    text: true,
    textTypes: [...types],
    textLimit: limitBytes,
    encoding: '',
    parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PUT, HttpMethodEnum.PATCH, HttpMethodEnum.DELETE],
  });
  return async (ctx) => {
    checkBodyHeaders(ctx.req, { limitBytes, advice });
    continueIfExpected(ctx.req, ctx.res);
    const bytes = isLarge(ctx.req)
      ? await readLargeBody(ctx.req, { limitBytes, advice, memory: ctx.state.memory, shape: shapeOf(valuesMax) })
      : await readSmall(ctx);
    if (bytes !== null && bytes.length > 0) return bytes;
    if (allowsEmpty) return null;
    throw invalidRequest('the body is empty; send a JSON object', null, 'empty_body');
  };

  async function readSmall(ctx: RequestContext): Promise<Buffer | null> {
    const stopCounting = countArrivals(ctx);
    try {
      await readBytes(ctx, noNext);
    } catch (error) {
      throw faultOf(error, limitBytes, advice);
    } finally {
      stopCounting();
    }
    return takeBytes(ctx);
  }
}

/** Return true for a body whose announced size is large or unknown. */
function isLarge({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > SMALL_BYTES_MAX;
}

function shapeOf(valuesMax: number | undefined): JsonShape | undefined {
  return valuesMax === undefined ? undefined : new JsonShape(valuesMax);
}

const noNext = () => Promise.resolve();

/**
 * Reserve memory for the bytes of a body as they arrive. Add the listener right after koa-body's: an earlier one would
 * consume bytes that koa-body then misses. Its error aborts koa-body's reading, unless that has already ended.
 */
function countArrivals({ req, state }: RequestContext): () => void {
  const { memory } = state;
  if (memory === null) return () => undefined;
  const count = (chunk: Buffer) => {
    try {
      memory.add(chunk.length);
    } catch (error) {
      if (req.listenerCount('error') > 0) req.emit('error', error);
    }
  };
  const onListener = (event: string | symbol) => {
    if (event !== 'end') return;
    req.off('newListener', onListener);
    req.on('data', count);
  };
  req.on('newListener', onListener);
  return () => {
    req.off('newListener', onListener);
    req.off('data', count);
  };
}

/** Take the bytes that koa-body has read, removing its reference to them; null for an empty body. */
function takeBytes(ctx: RequestContext): Buffer | null {
  const bytes: unknown = ctx.request.body;
  ctx.request.body = null;
  if (bytes === undefined && announcesBody(ctx.req)) {
    throw new AppError({ code: 'unsupported_media_type', status: 415, message: 'the Content-Type is malformed' });
  }
  if (bytes === undefined || (Buffer.isBuffer(bytes) && bytes.length === 0)) return null;
  if (!Buffer.isBuffer(bytes)) throw new TypeError('koa-body decoded a body whose bytes were expected');
  return bytes;
}

/** Map an error of raw-body, which identifies faults by `type`, to an AppError. */
function faultOf(error: unknown, limitBytes: number, advice: string | undefined): unknown {
  switch ((error as { type?: unknown }).type) {
    case 'entity.too.large':
      return bodyTooLarge(limitBytes, advice);
    case 'request.aborted':
    case 'stream.not.readable': // the client left before reading began
    case 'request.size.invalid':
      return clientGone(error);
    default:
      return error;
  }
}
