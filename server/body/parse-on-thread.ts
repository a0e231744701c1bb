import { AppError } from '../../src/platform/errors.ts';
import { type Threads, transferResult } from '../../src/platform/threads.ts';
import { parseJsonObject, VALUES_MAX } from './parse-json.ts';

/** Maximum body size to parse on the event loop. Larger bodies would block it for too long. */
export const INLINE_BYTES_MAX = 256 * 1024;

/** Result of parsing. Errors lose their class between threads, so a fault is passed by its fields. */
export type ParsedOrFault<Value> =
  | { readonly value: Value }
  | { readonly fault: { code: string; message: string; param: string | null } };

/** Run a parser. Return a refusal as a fault. */
export function parsedOrFault<Value>(parse: () => Value): ParsedOrFault<Value> {
  try {
    return { value: parse() };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { fault: { code: error.code, message: error.message, param: error.param } };
  }
}

/** Return the value of an outcome. @throws AppError 400 for a fault */
export function acceptedOf<Value>(outcome: ParsedOrFault<Value>): Value {
  if ('value' in outcome) return outcome.value;
  throw new AppError({ ...outcome.fault, status: 400 });
}

/** Parse bytes that arrived on a thread as a plain Uint8Array. */
export function parseBytes({
  bytes,
  valuesMax,
}: {
  readonly bytes: Uint8Array;
  readonly valuesMax: number;
}): ParsedOrFault<Record<string, unknown>> {
  return parsedOrFault(() => parseJsonObject(bufferOf(bytes), valuesMax));
}

/** View bytes that lost their class between threads as a Buffer. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * Parse a body (see `parseJsonObject`), on a thread if it is large. Don't use the bytes afterwards, since they are
 * transferred to the thread if possible.
 * @throws AppError 400
 */
export async function parseJsonBody(
  threads: Threads,
  bytes: Buffer,
  signal: AbortSignal,
  valuesMax: number = VALUES_MAX,
): Promise<Record<string, unknown>> {
  if (bytes.length <= INLINE_BYTES_MAX) return parseJsonObject(bytes, valuesMax);
  const options = { signal, ...transferOf(bytes) };
  const input = { bytes, valuesMax };
  const parsed = threads.run<ParsedOrFault<Record<string, unknown>>>(
    new URL(import.meta.url),
    'parseBytes',
    input,
    options,
  );
  return acceptedOf(await parsed);
}

/** Run an exported parser of bytes on a thread. */
export function runParser<Value>(
  threads: Threads,
  { module, name }: { readonly module: URL; readonly name: string },
  bytes: Buffer,
  signal: AbortSignal,
): Promise<ParsedOrFault<Value>> {
  return threads.run<ParsedOrFault<Value>>(module, name, bytes, { signal, ...transferOf(bytes) });
}

/** Transfer the memory of bytes to a thread if they own it, as all but small buffers do. */
function transferOf(bytes: Buffer): { transfer?: ArrayBuffer[] } {
  return bytes.byteLength > Buffer.poolSize ? { transfer: [bytes.buffer as ArrayBuffer] } : {};
}

/** Return an outcome from a thread, transferring `buffers` instead of copying them. */
export function movedFromThread<Value>(outcome: ParsedOrFault<Value>, buffers: (value: Value) => ArrayBuffer[]) {
  return 'value' in outcome ? transferResult(outcome, buffers(outcome.value)) : outcome;
}
