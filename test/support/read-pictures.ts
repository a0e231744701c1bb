import { Readable } from 'node:stream';
import { inflateSync } from 'node:zlib';
import { extractDocument } from '../../src/ingest/extract/extract-document.ts';
import type { ExtractLimits } from '../../src/ingest/extract/limits.ts';
import type { Bitmap } from './draw-text.ts';
import { greyImage } from './scan-samples.ts';

interface Reading {
  readonly limits?: Partial<ExtractLimits>;
  readonly strategy?: 'auto' | 'always';
  readonly signal?: AbortSignal;
}

/** Extract a document whose pictures are read by `read`, or as their size. */
export function extract(
  bytes: Buffer,
  fileName: string,
  read: (file: Uint8Array<ArrayBuffer>, signal: AbortSignal) => Promise<string> = async (file) => sizeOf(file),
  own: Reading = {},
) {
  const { strategy = 'auto', limits, signal } = own;
  return extractDocument({
    ...{ open: () => Readable.from([bytes]), sizeBytes: bytes.length, fileName, signal },
    ...(limits ? { limits } : {}),
    pictures: {
      strategy,
      read: async (file, own) => ({ text: await read(file, own), confidence: null }),
    },
  });
}

export function sizeOf(png: Uint8Array): string {
  const view = new DataView(png.buffer, png.byteOffset);
  return `picture ${view.getUint32(16)} x ${view.getUint32(20)}`;
}

/** Decode a grey PNG without filters. */
export function decodePng(png: Uint8Array): Bitmap {
  const file = Buffer.from(png);
  const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)];
  const at = file.indexOf('IDAT');
  const rows = inflateSync(file.subarray(at + 4, at + 4 + file.readUInt32BE(at - 4)));
  const pixels = Buffer.concat(
    Array.from({ length: height }, (_, y) => rows.subarray(y * (width + 1) + 1, (y + 1) * (width + 1))),
  );
  return { width, height, pixels: new Uint8Array(pixels) };
}

/** Make a bitmap whose rows and columns have distinct pixels, so that every rotation is visible. */
export function gradient(width: number, height: number): Bitmap {
  return { width, height, pixels: Uint8Array.from({ length: width * height }, (_, i) => (i * 7) % 251) };
}

/** Make a picture that is identified by its size. */
export const picture = (width: number, height = 60) => greyImage(gradient(width, height));
