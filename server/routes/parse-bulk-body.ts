import { BulkRequest } from '../../src/bulk/schema.ts';
import { AppError } from '../../src/platform/errors.ts';
import type { Threads } from '../../src/platform/threads.ts';
import { parseJsonObject } from '../body/parse-json.ts';
import { validate } from '../validate.ts';

/** Size up to which bodies are parsed and packed on the event loop; larger ones would block it for too long. */
const INLINE_BYTES_MAX = 128 * 1024;

/** Result of parsing. Errors lose their class between threads, so a fault is passed as its fields. */
type ParsedOrFault =
  | { readonly request: BulkRequest }
  | { readonly fault: { code: string; message: string; param: string | null } };

/** Parse and validate a body, on a worker thread or on the calling one. */
export function parseBulkRequest(bytes: Uint8Array): ParsedOrFault {
  try {
    const json = parseJsonObject(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    return { request: validate(BulkRequest, json) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { fault: { code: error.code, message: error.message, param: error.param } };
  }
}

/**
 * Parse a bulk request and pack its texts. The bytes may be unusable afterwards: if possible they are transferred to a
 * thread.
 *
 * @throws AppError 400 that names the fault of the bytes or of a text
 */
export async function parseBulkBody(threads: Threads, bytes: Buffer, signal: AbortSignal): Promise<BulkRequest> {
  const outcome =
    bytes.length <= INLINE_BYTES_MAX ? parseBulkRequest(bytes) : await parseOnThread(threads, bytes, signal);
  if ('request' in outcome) return outcome.request;
  throw new AppError({ ...outcome.fault, status: 400 });
}

function parseOnThread(threads: Threads, bytes: Buffer, signal: AbortSignal): Promise<ParsedOrFault> {
  const isWhole = bytes.byteLength === bytes.buffer.byteLength;
  const transfer = isWhole ? { transfer: [bytes.buffer as ArrayBuffer] } : {};
  return threads.run<ParsedOrFault>(new URL(import.meta.url), 'parseBulkRequest', bytes, { signal, ...transfer });
}
