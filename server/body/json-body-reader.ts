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
  /** Return `undefined` for an empty body instead of failing. */
  readonly allowsEmpty: boolean;
  /** Return the bytes without parsing them. */
  readonly asBytes: boolean;
}

/**
 * Make a reader of JSON bodies for one route. koa-body reads the bytes in its text mode without a decoder, because its
 * JSON mode silently replaces bytes that are not UTF-8.
 *
 * The reader returns the object (see `parseJsonObject`) or the bytes. It throws AppError 400, 413, 415, or
 * `client_gone`.
 */
export function jsonBodyReader(settings: JsonBodySettings): (ctx: Context) => Promise<unknown> {
  const { limitBytes, advice, allowsEmpty, asBytes } = settings;
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
      await readBytes(ctx, noNext);
    } catch (error) {
      throw faultOf(error, limitBytes, advice);
    }
    const bytes = takeBytes(ctx);
    if (bytes !== null) return asBytes ? bytes : parseJsonObject(bytes);
    if (allowsEmpty) return undefined;
    throw invalidRequest('the body is empty; send a JSON object', null, 'empty_body');
  };
}

const noNext = () => Promise.resolve();

/** Take the bytes that koa-body read and remove its reference to them; null for an empty body. */
function takeBytes(ctx: Context): Buffer | null {
  const bytes: unknown = ctx.request.body;
  ctx.request.body = null;
  if (bytes === undefined && announcesBody(ctx.req)) {
    throw new AppError({ code: 'unsupported_media_type', status: 415, message: 'the Content-Type is malformed' });
  }
  if (bytes === undefined || (Buffer.isBuffer(bytes) && bytes.length === 0)) return null;
  if (!Buffer.isBuffer(bytes)) throw new TypeError('koa-body decoded a body whose bytes were expected');
  return bytes;
}

/** Map an error of raw-body, which names its faults in `type`, to an AppError. */
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
