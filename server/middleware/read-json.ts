import { isUtf8 } from 'node:buffer';
import type { Context } from 'koa';
import { HttpMethodEnum, koaBody } from 'koa-body';
import { AppError, invalidRequest } from '../../src/platform/errors.ts';
import { announcesBody } from '../exchange.ts';
import { bodyTooLarge, clientGone } from './errors.ts';

/** Deeper nesting has no use in this API, and recursive code over it would overflow the stack. */
const DEPTH_MAX = 64;
/** A body of a million tiny values costs a hundred times its size once each of them is found to be wrong. */
const VALUES_MAX = 100_000;
const MIB = 1024 * 1024;

/**
 * A reader of JSON bodies up to `limitBytes`, counted while they arrive.
 *
 * koa-body reads the bytes: in its text mode with no decoder, because its JSON mode replaces bad UTF-8 silently.
 * What was sent must be one JSON object, well-formed UTF-8, at most 64 levels deep and 100,000 values large, and
 * must not hold `__proto__` or `constructor.prototype`. Lone surrogates written as escapes are accepted.
 *
 * The function returned gives the object, or undefined where the body is empty and `emptyIsFine`.
 *
 * @throws AppError 400, 413, or `client_gone`
 */
export function jsonReader(limitBytes: number, advice?: string): JsonReader {
  const readBytes = jsonBytesReader(limitBytes, advice);
  return async (ctx, emptyIsFine) => {
    const bytes = await readBytes(ctx);
    if (bytes !== null) return parseJsonObject(bytes);
    if (emptyIsFine) return undefined;
    throw invalidRequest('the body is empty; send a JSON object', null, 'empty_body');
  };
}

/** The bytes alone, up to `limitBytes`; null for an empty body. */
export function jsonBytesReader(limitBytes: number, advice?: string): (ctx: Context) => Promise<Buffer | null> {
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
    try {
      await readBytes(ctx, nothingNext);
    } catch (error) {
      throw faultOf(error, limitBytes, advice);
    }
    const bytes: unknown = ctx.request.body;
    if (bytes === undefined && announcesBody(ctx.req)) {
      throw new AppError({ code: 'unsupported_media_type', status: 415, message: 'the Content-Type is malformed' });
    }
    if (bytes === undefined || (Buffer.isBuffer(bytes) && bytes.length === 0)) return null;
    if (!Buffer.isBuffer(bytes)) throw new TypeError('koa-body decoded a body that was to stay bytes');
    return bytes;
  };
}

export type JsonReader = (ctx: Context, emptyIsFine: boolean) => Promise<unknown>;

const nothingNext = () => Promise.resolve();

/** @throws AppError 400 saying what is wrong with the bytes */
export function parseJsonObject(bytes: Buffer): Record<string, unknown> {
  if (!isUtf8(bytes)) throw invalidRequest('the body is not valid UTF-8', null, 'invalid_utf8');
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch (error) {
    // The parser's own message would repeat what was sent.
    throw new AppError({ code: 'invalid_json', status: 400, message: 'the body is not valid JSON', cause: error });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidRequest('the body must be a JSON object', null, 'invalid_json');
  }
  refuseHostileShape(value, 1, { values: 0 });
  return value as Record<string, unknown>;
}

/** Recursion is bounded by `DEPTH_MAX`. */
function refuseHostileShape(value: object, depth: number, seen: { values: number }): void {
  if (depth > DEPTH_MAX) throw invalidRequest(`the body is nested deeper than ${DEPTH_MAX} levels`);
  if (Array.isArray(value)) {
    count(value.length, seen);
    for (const item of value) {
      if (typeof item === 'object' && item !== null) refuseHostileShape(item, depth + 1, seen);
    }
    return;
  }
  const keys = Object.keys(value);
  count(keys.length, seen);
  for (const key of keys) {
    if (key === '__proto__') throw forbiddenKey(key);
    const item = (value as Record<string, unknown>)[key];
    if (typeof item !== 'object' || item === null) continue;
    if (key === 'constructor' && Object.hasOwn(item, 'prototype')) throw forbiddenKey('constructor.prototype');
    refuseHostileShape(item, depth + 1, seen);
  }
}

function count(more: number, seen: { values: number }): void {
  seen.values += more;
  if (seen.values > VALUES_MAX) throw invalidRequest(`the body holds more than ${VALUES_MAX} values`);
}

function forbiddenKey(key: string): AppError {
  return invalidRequest(`the key "${key}" is not allowed`, null, 'forbidden_key');
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

/** JSON on an upload route is held in memory, so it has a bound of its own. */
export const JSON_UPLOAD_BYTES_MAX = 64 * MIB;
