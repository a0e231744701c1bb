import type { Context } from 'koa';
import { HttpMethodEnum, koaBody } from 'koa-body';
import { AppError, invalidRequest } from '../../src/platform/errors.ts';
import { bodyTooLarge, clientGone } from '../errors.ts';
import { announcesBody, checkBodyHeaders, continueIfExpected } from './body-headers.ts';
import { parseJsonObject } from './parse-json.ts';

export interface JsonBodySettings {
  /** Bound of the body, counted while it arrives. */
  readonly limitBytes: number;
  /** Advice for the sender of a larger body. */
  readonly advice?: string;
  /** An empty body is `undefined` instead of an error. */
  readonly emptyIsFine: boolean;
  /** Give the bytes, unparsed. */
  readonly asBytes: boolean;
}

/**
 * Make the reader of a route's JSON bodies. koa-body reads the bytes: in its text mode with no decoder, because its
 * JSON mode replaces bad UTF-8 silently.
 *
 * The function returned gives the object (see `parseJsonObject`) or the bytes. It throws AppError 400, 413, 415, or
 * `client_gone`.
 */
export function jsonBodyReader(settings: JsonBodySettings): (ctx: Context) => Promise<unknown> {
  const { limitBytes, advice, emptyIsFine, asBytes } = settings;
  const readBytes = koaBody({
    json: false,
    urlencoded: false,
    multipart: false,
    text: true,
    textTypes: ['json', '+json'],
    textLimit: limitBytes,
    encoding: '',
    parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PUT, HttpMethodEnum.PATCH, HttpMethodEnum.DELETE],
  });
  return async (ctx) => {
    checkBodyHeaders(ctx.req, { limitBytes, advice });
    continueIfExpected(ctx.req, ctx.res);
    try {
      await readBytes(ctx, nothingNext);
    } catch (error) {
      throw faultOf(error, limitBytes, advice);
    }
    const bytes = takeBytes(ctx);
    if (bytes !== null) return asBytes ? bytes : parseJsonObject(bytes);
    if (emptyIsFine) return undefined;
    throw invalidRequest('the body is empty; send a JSON object', null, 'empty_body');
  };
}

const nothingNext = () => Promise.resolve();

/** Take the bytes that koa-body read, and let go of them there; null for an empty body. */
function takeBytes(ctx: Context): Buffer | null {
  const bytes: unknown = ctx.request.body;
  ctx.request.body = null;
  if (bytes === undefined && announcesBody(ctx.req)) {
    throw new AppError({ code: 'unsupported_media_type', status: 415, message: 'the Content-Type is malformed' });
  }
  if (bytes === undefined || (Buffer.isBuffer(bytes) && bytes.length === 0)) return null;
  if (!Buffer.isBuffer(bytes)) throw new TypeError('koa-body decoded a body that was to stay bytes');
  return bytes;
}

/** raw-body names its faults in `type`. */
function faultOf(error: unknown, limitBytes: number, advice: string | undefined): unknown {
  switch ((error as { type?: unknown }).type) {
    case 'entity.too.large':
      return bodyTooLarge(limitBytes, advice);
    case 'request.aborted':
    case 'stream.not.readable': // gone before the reading began
    case 'request.size.invalid':
      return clientGone(error);
    default:
      return error;
  }
}
