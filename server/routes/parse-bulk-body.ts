import { BulkRequest } from '../../src/bulk/schema.ts';
import type { Threads } from '../../src/platform/threads.ts';
import { parseJsonObject } from '../body/parse-json.ts';
import { acceptedOf, bufferOf, type ParsedOrFault, parsedOrFault, runParser } from '../body/parse-on-thread.ts';
import { validate } from '../validate.ts';

/** Size up to which bodies are parsed and packed on the event loop. Larger ones would block it for too long. */
const INLINE_BYTES_MAX = 128 * 1024;
/** Maximum values: 10,000 texts, with room to report a request with more. */
export const BULK_VALUES_MAX = 20_000;

/** Parse and validate a body, on a worker thread or on the calling one. */
export function parseBulkRequest(bytes: Uint8Array): ParsedOrFault<BulkRequest> {
  return parsedOrFault(() => validate(BulkRequest, parseJsonObject(bufferOf(bytes), BULK_VALUES_MAX)));
}

/**
 * Parse a bulk request and pack its texts. Don't use the bytes afterwards, since they are transferred to a thread if
 * possible.
 * @throws AppError 400 that names the fault of the bytes or of a text
 */
export async function parseBulkBody(threads: Threads, bytes: Buffer, signal: AbortSignal): Promise<BulkRequest> {
  if (bytes.length <= INLINE_BYTES_MAX) return acceptedOf(parseBulkRequest(bytes));
  const parser = { module: new URL(import.meta.url), name: 'parseBulkRequest' };
  return acceptedOf(await runParser<BulkRequest>(threads, parser, bytes, signal));
}
