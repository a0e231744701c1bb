import type { Context } from 'koa';
import { AppError, invalidRequest } from '../../src/platform/errors.ts';
import { announcesBody } from '../exchange.ts';
import { boundaryOf } from '../multipart.ts';
import type { Route, UploadedFile } from '../route.ts';
import { bodyTooLarge } from './errors.ts';
import { JSON_UPLOAD_BYTES_MAX, jsonBytesReader, jsonReader } from './read-json.ts';
import { MULTIPART_OVERHEAD_BYTES_MAX, receiveUpload } from './read-upload.ts';

export interface BodyLimits {
  /** Bound of a JSON body. */
  readonly bodyBytes: number;
  /** Bound of an uploaded file. */
  readonly uploadBytes: number;
  /** Where files of uploads are written while their request is served. */
  readonly uploadDirectory: string;
}

/** A body as it came, before any schema saw it. */
export interface ReceivedBody {
  readonly body: unknown;
  readonly file: UploadedFile | null;
}

/** Checks the announced type and length, then reads. Throws AppError 400, 413, 415, `client_gone`. */
export type BodyReader = (ctx: Context) => Promise<ReceivedBody>;

export const NO_BODY: ReceivedBody = { body: undefined, file: null };

/** The reader of a route's bodies, made once; null for a route that never reads one. */
export function bodyReaderOf(route: Route, limits: BodyLimits): BodyReader | null {
  if (route.reads === 'none') return null;
  const emptyIsFine = route.body?.safeParse(undefined).success ?? true;
  const readJson = jsonReaderOf(route, limits);
  if (route.reads === 'json') {
    return async (ctx) => {
      if (emptyIsFine && !announcesBody(ctx.req)) return NO_BODY;
      if (!isJson(ctx.req.headers['content-type'])) throw unsupportedType('application/json');
      return { body: await readJson(ctx, emptyIsFine), file: null };
    };
  }
  const fileBytesMax = route.bodyLimitBytes ?? limits.uploadBytes;
  return async (ctx) => {
    const contentType = ctx.req.headers['content-type'];
    if (isJson(contentType)) return { body: await readJson(ctx, emptyIsFine), file: null };
    if (!/^multipart\/form-data\s*;/i.test(contentType ?? '')) {
      throw unsupportedType('multipart/form-data or application/json');
    }
    const boundary = boundaryOf(contentType ?? '');
    if (boundary === null) throw unsupportedType('multipart/form-data with a boundary');
    refuseAnnouncedSize(ctx, fileBytesMax + MULTIPART_OVERHEAD_BYTES_MAX, fileBytesMax);
    refuseEncoding(ctx);
    continueIfAsked(ctx);
    const upload = await receiveUpload(ctx.req, { boundary, directory: limits.uploadDirectory, fileBytesMax });
    return { body: upload.fields, file: upload.file };
  };
}

function jsonReaderOf(route: Route, limits: BodyLimits): (ctx: Context, emptyIsFine: boolean) => Promise<unknown> {
  const isUpload = route.reads === 'upload';
  const ownLimit = route.bodyLimitBytes ?? (isUpload ? limits.uploadBytes : limits.bodyBytes);
  const limitBytes = isUpload ? Math.min(ownLimit, JSON_UPLOAD_BYTES_MAX) : ownLimit;
  const advice = isUpload ? 'send the file as multipart/form-data' : undefined;
  const read = route.parse ? bytesReader(limitBytes) : jsonReader(limitBytes, advice);
  return (ctx, emptyIsFine) => {
    refuseAnnouncedSize(ctx, limitBytes, limitBytes, advice);
    refuseEncoding(ctx);
    continueIfAsked(ctx);
    return read(ctx, emptyIsFine);
  };
}

/** For a route that parses by itself. */
function bytesReader(limitBytes: number): (ctx: Context) => Promise<Buffer> {
  const read = jsonBytesReader(limitBytes);
  return async (ctx) => {
    const bytes = await read(ctx);
    if (bytes === null) throw invalidRequest('the body is empty; send a JSON object', null, 'empty_body');
    return bytes;
  };
}

function isJson(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true;
  if (contentType === undefined || !/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(contentType)) return false;
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1]?.toLowerCase();
  return charset === undefined || charset === 'utf-8' || charset === 'utf8' || charset === 'us-ascii';
}

function unsupportedType(wanted: string): AppError {
  return new AppError({ code: 'unsupported_media_type', status: 415, message: `send Content-Type: ${wanted}` });
}

function refuseAnnouncedSize(ctx: Context, limitBytes: number, namedBytes: number, advice?: string): void {
  const announced = ctx.req.headers['content-length'];
  if (announced !== undefined && Number(announced) > limitBytes) throw bodyTooLarge(namedBytes, advice);
}

/** A compressed body could be a thousand times its announced size, and no client of this API sends one. */
function refuseEncoding(ctx: Context): void {
  const encoding = ctx.req.headers['content-encoding'];
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return;
  const message = 'send the body without Content-Encoding';
  throw new AppError({ code: 'unsupported_content_encoding', status: 415, message });
}

/** `Expect: 100-continue`: only now is it certain that the body is wanted. */
function continueIfAsked(ctx: Context): void {
  if (ctx.req.headers.expect !== undefined) ctx.res.writeContinue();
}
