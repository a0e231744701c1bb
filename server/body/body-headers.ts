import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '../../src/platform/errors.ts';
import { bodyTooLarge } from '../errors.ts';

/** Check that the headers announce a body (RFC 9112, section 6.3). */
export function announcesBody(req: IncomingMessage): boolean {
  const { headers } = req;
  if (headers['transfer-encoding'] !== undefined) return true;
  const length = headers['content-length'];
  return length !== undefined && length !== '0';
}

/** Check for a content type of JSON in a character set that UTF-8 includes. */
export function isJson(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true;
  if (contentType === undefined || !/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(contentType)) return false;
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1]?.toLowerCase();
  return charset === undefined || charset === 'utf-8' || charset === 'utf8' || charset === 'us-ascii';
}

/** 415 naming the content type to send. */
export function unsupportedType(wanted: string): AppError {
  return new AppError({ code: 'unsupported_media_type', status: 415, message: `send Content-Type: ${wanted}` });
}

export interface SizeLimit {
  readonly limitBytes: number;
  /** The bound as the client is told it, where that is less than what the whole body may have. */
  readonly namedBytes?: number;
  /** Advice for the sender of a larger body. */
  readonly advice?: string | undefined;
}

/**
 * Refuse a body that is announced as too large, and a compressed one: that could be a thousand times its announced
 * size, and no client of this API sends one.
 *
 * @throws AppError 413 `body_too_large`, 415 `unsupported_content_encoding`
 */
export function checkBodyHeaders(req: IncomingMessage, limit: SizeLimit): void {
  const announced = req.headers['content-length'];
  if (announced !== undefined && Number(announced) > limit.limitBytes) {
    throw bodyTooLarge(limit.namedBytes ?? limit.limitBytes, limit.advice);
  }
  const encoding = req.headers['content-encoding'];
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return;
  const message = 'send the body without Content-Encoding';
  throw new AppError({ code: 'unsupported_content_encoding', status: 415, message });
}

/** Answer `Expect: 100-continue`. Called once it is certain that the body is wanted, so that a refused one is not sent. */
export function continueIfExpected(req: IncomingMessage, res: ServerResponse): void {
  if (req.headers.expect !== undefined) res.writeContinue();
}
