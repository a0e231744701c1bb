import { BulkRequest } from '../../src/bulk/schema.ts';
import { AppError } from '../../src/platform/errors.ts';
import type { Threads } from '../../src/platform/threads.ts';
import { parseJsonObject } from '../body/parse-json.ts';
import { validate } from '../validate.ts';

/** Larger bodies take longer to parse and to pack than the event loop may be held. */
const INLINE_BYTES_MAX = 128 * 1024;

/** Errors lose their class between threads, so that a fault travels as its fields. */
type ParsedOrFault =
  | { readonly request: BulkRequest }
  | { readonly fault: { code: string; message: string; param: string | null } };

/** Runs on a worker thread, and just as well on the calling one. */
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
 * The request, its texts packed. The bytes may be gone afterwards: they are moved to the thread where they can be.
 *
 * @throws AppError 400 saying what is wrong with the bytes or with which text
 */
export async function parseBulkBody(threads: Threads, bytes: Buffer, signal: AbortSignal): Promise<BulkRequest> {
  const outcome = bytes.length <= INLINE_BYTES_MAX ? parseBulkRequest(bytes) : await onThread(threads, bytes, signal);
  if ('request' in outcome) return outcome.request;
  throw new AppError({ ...outcome.fault, status: 400 });
}

function onThread(threads: Threads, bytes: Buffer, signal: AbortSignal): Promise<ParsedOrFault> {
  const isWhole = bytes.byteLength === bytes.buffer.byteLength;
  const transfer = isWhole ? { transfer: [bytes.buffer as ArrayBuffer] } : {};
  return threads.run<ParsedOrFault>(new URL(import.meta.url), 'parseBulkRequest', bytes, { signal, ...transfer });
}
