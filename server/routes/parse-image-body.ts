import { EmbedImageRequest } from '../../src/embedding/image-schema.ts';
import { AppError } from '../../src/platform/errors.ts';
import { type Threads, transferResult } from '../../src/platform/threads.ts';
import { parseJsonObject } from '../body/parse-json.ts';
import { validate } from '../validate.ts';

/** Larger bodies take longer to parse and to decode than the event loop may be held. */
const INLINE_BYTES_MAX = 1024 * 1024;

/** Errors lose their class between threads, so that a fault travels as its fields. */
type ParsedOrFault =
  | { readonly request: EmbedImageRequest }
  | { readonly fault: { code: string; message: string; param: string | null } };

/** Runs on a worker thread, and just as well on the calling one. */
export function parseImageRequest(bytes: Uint8Array): ParsedOrFault {
  try {
    const json = parseJsonObject(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    return { request: validate(EmbedImageRequest, json) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { fault: { code: error.code, message: error.message, param: error.param } };
  }
}

/** The same, handing the images' memory over instead of copying it. */
export function parseImageOnThread(bytes: Uint8Array): unknown {
  const outcome = parseImageRequest(bytes);
  if (!('request' in outcome)) return outcome;
  return transferResult(
    outcome,
    outcome.request.images.map((image) => image.bytes.buffer),
  );
}

/**
 * The request, its images decoded.
 *
 * @throws AppError 400 saying what is wrong with the bytes or with which image
 */
export async function parseImageBody(threads: Threads, bytes: Buffer, signal: AbortSignal): Promise<EmbedImageRequest> {
  const outcome =
    bytes.length <= INLINE_BYTES_MAX
      ? parseImageRequest(bytes)
      : await threads.run<ParsedOrFault>(new URL(import.meta.url), 'parseImageOnThread', bytes, {
          signal,
          // Large bodies have memory of their own.
          transfer: bytes.byteLength === bytes.buffer.byteLength ? [bytes.buffer as ArrayBuffer] : [],
        });
  if ('request' in outcome) return outcome.request;
  throw new AppError({ ...outcome.fault, status: 400 });
}
