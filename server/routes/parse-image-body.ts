import { EmbedImageRequest } from '../../src/embedding/image-schema.ts';
import type { Threads } from '../../src/platform/threads.ts';
import { parseJsonObject } from '../body/parse-json.ts';
import {
  acceptedOf,
  bufferOf,
  INLINE_BYTES_MAX,
  movedFromThread,
  parsedOrFault,
  runParser,
} from '../body/parse-on-thread.ts';
import { validate } from '../validate.ts';

/** Parse and validate a body. */
function parseImageRequest(bytes: Uint8Array) {
  return parsedOrFault(() => validate(EmbedImageRequest, parseJsonObject(bufferOf(bytes))));
}

/** Run `parseImageRequest` on a thread, and transfer the memory of the images instead of copying it. */
export function parseImageOnThread(bytes: Uint8Array): unknown {
  return movedFromThread(parseImageRequest(bytes), ({ images }) => images.map((image) => image.bytes.buffer));
}

/**
 * Parse a request and decode its images, on a thread if it is large.
 * @throws AppError 400 that names the fault of the bytes or of an image
 */
export async function parseImageBody(threads: Threads, bytes: Buffer, signal: AbortSignal): Promise<EmbedImageRequest> {
  if (bytes.length <= INLINE_BYTES_MAX) return acceptedOf(parseImageRequest(bytes));
  const parser = { module: new URL(import.meta.url), name: 'parseImageOnThread' };
  return acceptedOf(await runParser<EmbedImageRequest>(threads, parser, bytes, signal));
}
