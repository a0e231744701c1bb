import { crc32, deflateSync } from 'node:zlib';
import type { Bitmap } from './draw-text.ts';

// Encoders of grey bitmaps in the accepted formats, each in the simplest form that its format allows.

/** Encode as PNG, 8-bit grey (W3C PNG, third edition). */
export function encodePng({ width, height, pixels }: Bitmap): Buffer {
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++) rows.set(pixels.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  return pngOf(width, height, 0, deflateSync(rows));
}

/** Create a PNG with an arbitrary declared size and image data. @param colourType 0 grey, 2 RGB, 6 RGBA */
export function pngOf(width: number, height: number, colourType: number, imageData: Uint8Array): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, colourType, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', header),
    pngChunk('IDAT', imageData),
    pngChunk('IEND', new Uint8Array()),
  ]);
}

function pngChunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/**
 * Encode one or several frames as GIF with 128 greys, uncompressed: codes of 8 bits with a clear code before the code
 * table grows (GIF89a specification, appendix F).
 */
export function encodeGif(frames: readonly Bitmap[]): Buffer {
  const { width = 1, height = 1 } = frames[0] ?? {};
  const head = Buffer.alloc(13);
  head.write('GIF89a', 'latin1');
  head.writeUInt16LE(width, 6);
  head.writeUInt16LE(height, 8);
  head[10] = 0x80 | 6; // A global table of 128 colours.
  const palette = Buffer.from(Array.from({ length: 128 }, (_, grey) => [grey * 2, grey * 2, grey * 2]).flat());
  const parts: Buffer[] = [head, palette];
  if (frames.length > 1) parts.push(Buffer.from('\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00', 'latin1'));
  for (const frame of frames) {
    const place = Buffer.alloc(10);
    place[0] = 0x2c;
    place.writeUInt16LE(frame.width, 5);
    place.writeUInt16LE(frame.height, 7);
    parts.push(Buffer.from('\x21\xf9\x04\x00\x0a\x00\x00\x00', 'latin1'), place, Buffer.from([7]), gifCodes(frame));
  }
  return Buffer.concat([...parts, Buffer.from(';')]);
}

function gifCodes({ pixels }: Bitmap): Buffer {
  const CLEAR = 128;
  const END = 129;
  const codes: number[] = [];
  pixels.forEach((grey, index) => {
    if (index % 100 === 0) codes.push(CLEAR);
    codes.push(grey >> 1);
  });
  codes.push(END);
  const blocks: Buffer[] = [];
  for (let at = 0; at < codes.length; at += 255) {
    const block = codes.slice(at, at + 255);
    blocks.push(Buffer.from([block.length, ...block]));
  }
  return Buffer.concat([...blocks, Buffer.from([0])]);
}

/** Writer of bits, lowest bit first. */
class BitWriter {
  readonly #bytes: number[] = [];
  #pending = 0;
  #bits = 0;

  put(value: number, bits: number): void {
    for (let i = 0; i < bits; i++) {
      this.#pending |= ((value >> i) & 1) << this.#bits;
      if (++this.#bits === 8) {
        this.#bytes.push(this.#pending);
        this.#pending = 0;
        this.#bits = 0;
      }
    }
  }

  finish(): Buffer {
    if (this.#bits > 0) this.put(0, 8 - this.#bits);
    return Buffer.from(this.#bytes);
  }
}

/** Encode as lossless WebP without compression: every grey is an 8-bit prefix code (RFC 9649, 3). */
export function encodeWebp(bitmap: Bitmap): Buffer {
  return riffWebp([{ type: 'VP8L', data: webpLossless(bitmap) }]);
}

/** Encode several frames of the same size as WebP (RFC 9649, 2.7.1.1: VP8X, ANIM, ANMF). */
export function encodeAnimatedWebp(frames: readonly Bitmap[]): Buffer {
  const { width = 1, height = 1 } = frames[0] ?? {};
  const extended = Buffer.alloc(10);
  extended[0] = 0x02;
  extended.writeUIntLE(width - 1, 4, 3);
  extended.writeUIntLE(height - 1, 7, 3);
  const parts = frames.map((frame) => {
    const place = Buffer.alloc(16);
    place.writeUIntLE(frame.width - 1, 6, 3);
    place.writeUIntLE(frame.height - 1, 9, 3);
    place.writeUIntLE(100, 12, 3);
    return { type: 'ANMF', data: Buffer.concat([place, riffChunk('VP8L', webpLossless(frame))]) };
  });
  return riffWebp([{ type: 'VP8X', data: extended }, { type: 'ANIM', data: Buffer.alloc(6) }, ...parts]);
}

function riffWebp(chunks: readonly { type: string; data: Buffer }[]): Buffer {
  const body = Buffer.concat([Buffer.from('WEBP'), ...chunks.map(({ type, data }) => riffChunk(type, data))]);
  return riffChunk('RIFF', body);
}

function riffChunk(type: string, data: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(type, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
}

function webpLossless({ width, height, pixels }: Bitmap): Buffer {
  const bits = new BitWriter();
  bits.put(0x2f, 8);
  bits.put(width - 1, 14);
  bits.put(height - 1, 14);
  bits.put(0, 4); // No alpha, version 0.
  bits.put(1, 1); // A transform follows:
  bits.put(2, 2); // subtract green, so that red and blue are 0.
  bits.put(0, 1); // No further transform,
  bits.put(0, 1); // no colour cache,
  bits.put(0, 1); // no meta prefix codes.
  // Green: 256 literals of 8 bits, then 24 unused lengths. Code lengths 0 and 8 take one bit each.
  bits.put(0, 1);
  const order = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8];
  bits.put(order.length - 4, 4);
  for (const symbol of order) bits.put(symbol === 0 || symbol === 8 ? 1 : 0, 3);
  bits.put(0, 1); // All 280 lengths follow.
  for (let symbol = 0; symbol < 280; symbol++) bits.put(symbol < 256 ? 1 : 0, 1);
  // Red, blue, alpha, distance: one symbol each, which takes no bits.
  for (const symbol of [0, 0, 255, 0]) {
    bits.put(1, 1);
    bits.put(0, 1);
    bits.put(1, 1);
    bits.put(symbol, 8);
  }
  for (const grey of pixels) for (let bit = 7; bit >= 0; bit--) bits.put((grey >> bit) & 1, 1);
  return bits.finish();
}

/** Encode as baseline JPEG in which every pixel of the bitmap becomes an 8 x 8 block of one grey (ITU-T T.81). */
export function encodeJpeg({ width, height, pixels }: Bitmap): Buffer {
  const segment = (marker: number, data: number[]) => [
    0xff,
    marker,
    (data.length + 2) >> 8,
    (data.length + 2) & 255,
    ...data,
  ];
  const size = (value: number) => [(value * 8) >> 8, (value * 8) & 255];
  const head = [
    ...[0xff, 0xd8],
    ...segment(0xdb, [0, ...Array<number>(64).fill(8)]),
    ...segment(0xc0, [8, ...size(height), ...size(width), 1, 1, 0x11, 0]),
    // DC: categories 0 to 11, four bits each. AC: only the end of the block, one bit.
    ...segment(0xc4, [0x00, 0, 0, 0, 12, ...Array<number>(12).fill(0), ...Array.from({ length: 12 }, (_, i) => i)]),
    ...segment(0xc4, [0x10, 1, ...Array<number>(15).fill(0), 0]),
    ...segment(0xda, [1, 1, 0x00, 0, 63, 0]),
  ];
  let bits = '';
  const bytes: number[] = [];
  const put = (value: number, count: number) => {
    bits += count === 0 ? '' : value.toString(2).padStart(count, '0');
    while (bits.length >= 8) {
      const byte = Number.parseInt(bits.slice(0, 8), 2);
      bytes.push(byte);
      if (byte === 0xff) bytes.push(0);
      bits = bits.slice(8);
    }
  };
  let previous = 0;
  for (const grey of pixels) {
    const level = grey - 128; // The DC coefficient is 8 times the mean, the quantiser 8.
    const difference = level - previous;
    previous = level;
    const category = difference === 0 ? 0 : Math.floor(Math.log2(Math.abs(difference))) + 1;
    put(category, 4);
    put(difference < 0 ? difference + 2 ** category - 1 : difference, category);
    put(0, 1);
  }
  if (bits !== '') put(2 ** (8 - bits.length) - 1, 8 - bits.length);
  return Buffer.from([...head, ...bytes, 0xff, 0xd9]);
}

/** Add an EXIF segment with an orientation to a JPEG (EXIF 2.32, 4.5.4 and 4.6.4 A). */
export function withExifOrientation(jpeg: Buffer, orientation: number, order: 'II' | 'MM'): Buffer {
  const tiff = Buffer.alloc(26);
  const isLittle = order === 'II';
  const u16 = (value: number, at: number) => (isLittle ? tiff.writeUInt16LE(value, at) : tiff.writeUInt16BE(value, at));
  const u32 = (value: number, at: number) => (isLittle ? tiff.writeUInt32LE(value, at) : tiff.writeUInt32BE(value, at));
  tiff.write(order, 'latin1');
  u16(42, 2);
  u32(8, 4); // The first directory, with one entry:
  u16(1, 8);
  u16(0x0112, 10); // orientation,
  u16(3, 12); // a SHORT,
  u32(1, 14); // one of them.
  u16(orientation, 18);
  const body = Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), tiff]);
  const head = Buffer.from([0xff, 0xe1, 0, body.length + 2]);
  return Buffer.concat([jpeg.subarray(0, 2), head, body, jpeg.subarray(2)]);
}

/** Rotate a bitmap by 90 degrees counter-clockwise, as a camera stores it with orientation 6. */
export function rotateLeft({ width, height, pixels }: Bitmap): Bitmap {
  const rotated = new Uint8Array(pixels.length);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) rotated[(width - 1 - x) * height + y] = pixels[y * width + x] as number;
  }
  return { width: height, height: width, pixels: rotated };
}
