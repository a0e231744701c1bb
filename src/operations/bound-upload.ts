import { Readable } from 'node:stream';
import { AppError } from '../platform/errors.ts';

/**
 * Limit the size of an upload's content.
 *
 * @param sizeBytes declared size of the content; null if unknown
 * @returns a function that opens the content; the stream fails with `too_large` (413) beyond the limit
 * @throws AppError `too_large` (413) if the size exceeds the limit
 */
export function boundUpload(content: Readable, sizeBytes: number | null, limitBytes: number): () => Readable {
  if (sizeBytes !== null && sizeBytes > limitBytes) {
    content.destroy();
    throw tooLarge(`has ${sizeBytes} bytes`, limitBytes);
  }
  return () => Readable.from(bounded(content, limitBytes), { objectMode: false });
}

async function* bounded(content: Readable, limitBytes: number): AsyncGenerator<Uint8Array> {
  let readBytes = 0;
  for await (const chunk of content as AsyncIterable<Uint8Array>) {
    readBytes += chunk.length;
    if (readBytes > limitBytes) throw tooLarge(`has more than ${limitBytes} bytes`, limitBytes);
    yield chunk;
  }
}

function tooLarge(what: string, limitBytes: number): AppError {
  return new AppError({
    code: 'too_large',
    status: 413,
    message: `the file ${what}; at most ${limitBytes} are allowed (limits.upload_bytes)`,
  });
}
