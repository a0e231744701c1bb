import { EmbedImageRequest } from '../../src/embedding/image-schema.ts';
import { AppError } from '../../src/platform/errors.ts';
import { type Threads, transferResult } from '../../src/platform/threads.ts';
import { parseJsonObject } from '../body/parse-json.ts';
import { validate } from '../validate.ts';

/** Size up to which bodies are parsed and decoded on the event loop; larger ones would block it for too long. */
const INLINE_BYTES_MAX = 1024 * 1024;

/** Result of parsing. Errors lose their class between threads, so a fault is passed as its fields. */
type ParsedOrFault =
  | { readonly request: EmbedImageRequest }
  | { readonly fault: { code: string; message: string; param: string | null } };

/** Parse and validate a body, on a worker thread or on the calling one. */
export function parseImageRequest(bytes: Uint8Array): ParsedOrFault {
  try {
    const json = parseJsonObject(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    return { request: validate(EmbedImageRequest, json) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { fault: { code: error.code, message: error.message, param: error.param } };
  }
}

/** Run `parseImageRequest` on a thread, and transfer the memory of the images instead of copying it. */
export function parseImageOnThread(bytes: Uint8Array): unknown {
  const outcome = parseImageRequest(bytes);
  if (!('request' in outcome)) return outcome;
  return transferResult(
    outcome,
    outcome.request.images.map((image) => image.bytes.buffer),
  );
}

/**
 * Parse a request and decode its images.
 *
 * @throws AppError 400 that names the fault of the bytes or of an image
 */
export async function parseImageBody(threads: Threads, bytes: Buffer, signal: AbortSignal): Promise<EmbedImageRequest> {
  const outcome =
    bytes.length <= INLINE_BYTES_MAX
      ? parseImageRequest(bytes)
      : await threads.run<ParsedOrFault>(new URL(import.meta.url), 'parseImageOnThread', bytes, {
          signal,
          // A large body has an ArrayBuffer of its own.
          transfer: bytes.byteLength === bytes.buffer.byteLength ? [bytes.buffer as ArrayBuffer] : [],
        });
  if ('request' in outcome) return outcome.request;
  throw new AppError({ ...outcome.fault, status: 400 });
}
