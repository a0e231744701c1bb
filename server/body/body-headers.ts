import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '../../src/platform/errors.ts';
import { bodyTooLarge } from '../errors.ts';

/** Return true if the headers announce a body (RFC 9112, section 6.3). */
export function announcesBody(req: IncomingMessage): boolean {
  const { headers } = req;
  if (headers['transfer-encoding'] !== undefined) return true;
  const length = headers['content-length'];
  return length !== undefined && length !== '0';
}

/** Return true for a JSON content type in UTF-8 or a subset of it. */
export function isJson(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true;
  if (contentType === undefined || !/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(contentType)) return false;
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1]?.toLowerCase();
  return charset === undefined || charset === 'utf-8' || charset === 'utf8' || charset === 'us-ascii';
}

/** Create an error 415 that names the content type to send. */
export function unsupportedType(wanted: string): AppError {
  return new AppError({ code: 'unsupported_media_type', status: 415, message: `send Content-Type: ${wanted}` });
}

export interface SizeLimit {
  readonly limitBytes: number;
  /** Limit to report to the client, if it is less than the limit for the whole body. */
  readonly namedBytes?: number;
  /** Advice for the sender of a larger body. */
  readonly advice?: string | undefined;
}

/**
 * Refuse a body whose announced size is too large. Also refuse a compressed body, which could expand to a thousand
 * times its announced size. No client of this API sends compressed bodies.
 * @throws AppError 413 `body_too_large`, 415 `unsupported_content_encoding`
 */
export function checkBodyHeaders(req: IncomingMessage, limit: SizeLimit): void {
  const announced = req.headers['content-length'];
  if (announced !== undefined && Number(announced) > limit.limitBytes) {
    throw bodyTooLarge(limit.namedBytes ?? limit.limitBytes, limit.advice);
  }
  const encoding = req.headers['content-encoding'];
  if (encoding === undefined) return;
  if (/^\s*(?:identity)?\s*$/i.test(encoding)) {
    // The body readers accept `identity` only in lower case.
    delete req.headers['content-encoding'];
    return;
  }
  const message = 'send the body without Content-Encoding';
  throw new AppError({ code: 'unsupported_content_encoding', status: 415, message });
}

/**
 * Answer `Expect: 100-continue`. Call this only once the body is certain to be read, so that a refused body is not
 * sent.
 */
export function continueIfExpected(req: IncomingMessage, res: ServerResponse): void {
  if (req.headers.expect !== undefined) res.writeContinue();
}
