import type { DecodedImage } from './decode-images.ts';
import {
  bitstreamSize,
  findGifFrame,
  viewOf,
  WEBP_FRAME_HEAD_BYTES,
  type WebpChunk,
  webpChunks,
  webpFileChunks,
} from './image-header.ts';

/**
 * Return a file with only the first frame. Decoders unpack all frames of a GIF before they read one, and refuse
 * animated WebP.
 *
 * @returns the original bytes if there is only one frame
 */
export function firstFrameOf(image: Pick<DecodedImage, 'bytes' | 'format'>): Uint8Array {
  const file = viewOf(image.bytes);
  if (image.format === 'gif') return firstGifFrame(file);
  if (image.format === 'webp') return firstWebpFrame(file);
  return image.bytes;
}

function firstGifFrame(file: Buffer): Uint8Array {
  const frame = findGifFrame(file);
  if (frame === null) return file;
  const trailer = Buffer.from([0x3b]);
  return Buffer.concat([file.subarray(0, frame.headLength), file.subarray(frame.start, frame.end), trailer]);
}

/** Build a still image from the first animation frame, which holds the chunks of one (RFC 9649, 2.7.1.1). */
function firstWebpFrame(file: Buffer): Uint8Array {
  for (const { type, data } of webpFileChunks(file)) {
    if (type !== 'ANMF') continue;
    let alpha: WebpChunk | null = null;
    for (const chunk of webpChunks(data.subarray(WEBP_FRAME_HEAD_BYTES))) {
      if (chunk.type === 'ALPH') alpha = chunk;
      const size = bitstreamSize(chunk.type, chunk.data);
      if (size !== null) return webpFile(alpha === null ? [chunk] : [alphaHeader(size), alpha, chunk]);
    }
    return file;
  }
  return file;
}

/** Build the `VP8X` chunk of an image with a separate alpha channel. */
function alphaHeader(size: { width: number; height: number }): WebpChunk {
  const data = Buffer.alloc(10);
  data[0] = 0x10;
  data.writeUIntLE(size.width - 1, 4, 3);
  data.writeUIntLE(size.height - 1, 7, 3);
  return { type: 'VP8X', data };
}

function webpFile(chunks: readonly WebpChunk[]): Buffer {
  const body = chunks.flatMap(({ type, data }) => [riffHead(type, data.length), data, Buffer.alloc(data.length & 1)]);
  const length = body.reduce((sum, part) => sum + part.length, 4);
  return Buffer.concat([riffHead('RIFF', length), Buffer.from('WEBP', 'latin1'), ...body]);
}

function riffHead(type: string, length: number): Buffer {
  const head = Buffer.alloc(8);
  head.write(type, 'latin1');
  head.writeUInt32LE(length, 4);
  return head;
}
