/**
 * Reader of format, size and orientation from the first bytes of an image file. It decodes no pixels.
 * `docs/decisions/0013-own-image-headers.md` explains why no library is used.
 */

export const IMAGE_FORMATS = ['png', 'jpeg', 'webp', 'gif'] as const;
export type ImageFormat = (typeof IMAGE_FORMATS)[number];

export interface ImageHeader {
  readonly format: ImageFormat;
  /** Pixels as stored, before any rotation; the larger value if canvas and first frame differ. */
  readonly width: number;
  readonly height: number;
  /** EXIF orientation, 1 to 8 (EXIF 2.32, 4.6.4 A); 1 (upright) if the file has none. */
  readonly orientation: number;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Maximum number of segments, blocks or chunks before the first frame. Real files have at most some hundred. */
const PARTS_MAX = 10_000;

const PNG_SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** Return the format by the magic bytes, or null if it isn't accepted. */
export function formatOf(bytes: Uint8Array): ImageFormat | null {
  const file = viewOf(bytes);
  if (file.subarray(0, 8).equals(PNG_SIGNATURE)) return 'png';
  if (file.length >= 3 && file.readUIntBE(0, 3) === 0xffd8ff) return 'jpeg';
  if (/^GIF8[79]a/.test(ascii(file, 0, 6))) return 'gif';
  if (ascii(file, 0, 4) === 'RIFF' && ascii(file, 8, 4) === 'WEBP') return 'webp';
  return null;
}

const FOREIGN: readonly (readonly [start: RegExp, name: string])[] = [
  [/^BM/, 'BMP'],
  [/^II\*|^MM.\*/s, 'TIFF'],
  [/^%PDF-/, 'PDF'],
  [/^....ftyp(?:hei|hev|mif|msf)/s, 'HEIC'],
  [/^....ftypavi/s, 'AVIF'],
  [/^\s*(?:<\?xml|<svg)/i, 'SVG or XML'],
  [/^\s*<(?:!doctype|html)/i, 'HTML'],
  [/^PK\W/, 'a ZIP archive'],
];

/** Name the format of a rejected file for an error message. */
export function foreignFormatOf(bytes: Uint8Array): string {
  const start = ascii(viewOf(bytes), 0, 64);
  return FOREIGN.find(([pattern]) => pattern.test(start))?.[1] ?? 'an unknown format';
}

/** Read the header of an image file; null if it is truncated or invalid. */
export function readImageHeader(bytes: Uint8Array): ImageHeader | null {
  const format = formatOf(bytes);
  if (format === null) return null;
  const file = viewOf(bytes);
  if (format === 'jpeg') return jpegHeader(file);
  const size = format === 'png' ? pngSize(file) : format === 'gif' ? gifSize(file) : webpSize(file);
  return size === null ? null : { format, ...size, orientation: 1 };
}

export function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function ascii(file: Buffer, from: number, length: number): string {
  return file.toString('latin1', from, from + length);
}

/** Read the size from the header chunk, which comes first (PNG, third edition, 5.6). */
function pngSize(file: Buffer): Size | null {
  if (file.length < 24 || ascii(file, 12, 4) !== 'IHDR') return null;
  return { width: file.readUInt32BE(16), height: file.readUInt32BE(20) };
}

/** Read the segments up to the frame header (ITU-T T.81, B.1 and B.2.2). */
function jpegHeader(file: Buffer): ImageHeader | null {
  let orientation = 1;
  let at = 2;
  for (let part = 0; part < PARTS_MAX && at + 4 <= file.length; part++) {
    if (file[at] !== 0xff) return null;
    const marker = file[at + 1] as number;
    if (marker === 0xff) {
      at++; // Skips a fill byte.
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) {
      if (at + 9 > file.length) return null;
      return { format: 'jpeg', height: file.readUInt16BE(at + 5), width: file.readUInt16BE(at + 7), orientation };
    }
    if (marker === 0xd9 || marker === 0xda) return null; // Pixels or the end come before any size.
    const length = file.readUInt16BE(at + 2);
    if (length < 2) return null;
    if (marker === 0xe1) orientation = exifOrientation(file.subarray(at + 4, at + 2 + length)) ?? orientation;
    at += 2 + length;
  }
  return null;
}

const ORIENTATION_TAG = 0x0112;

/** Read tag 0x0112 of the first directory of the TIFF structure after `Exif\0\0`. */
function exifOrientation(segment: Buffer): number | null {
  if (ascii(segment, 0, 6) !== 'Exif\0\0') return null;
  const tiff = segment.subarray(6);
  const isLittle = ascii(tiff, 0, 2) === 'II';
  const u16 = (at: number) => (at + 2 > tiff.length ? 0 : isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  if (tiff.length < 8 || u16(2) !== 42) return null;
  const directory = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  const count = Math.min(u16(directory), 512);
  for (let entry = 0; entry < count; entry++) {
    const at = directory + 2 + entry * 12;
    if (u16(at) !== ORIENTATION_TAG) continue;
    const value = u16(at + 8);
    return value >= 1 && value <= 8 ? value : null;
  }
  return null;
}

/** Position and size of the first frame of a GIF (GIF89a specification, 17 to 26). */
export interface GifFrame extends Size {
  /** Length of signature, screen and global colours. */
  readonly headLength: number;
  /** Offset of the image descriptor. */
  readonly start: number;
  /** Offset after the last block of the frame. */
  readonly end: number;
}

/** Find the first frame of a GIF, or return null. A truncated frame ends with the file. */
export function findGifFrame(file: Buffer): GifFrame | null {
  if (file.length < 13) return null;
  const headLength = 13 + colourTableLength(file[10] as number);
  let at = headLength;
  for (let part = 0; part < PARTS_MAX && at < file.length; part++) {
    const introducer = file[at];
    if (introducer === 0x21) {
      at = skipSubBlocks(file, at + 2);
    } else if (introducer === 0x2c && at + 10 <= file.length) {
      const data = at + 10 + colourTableLength(file[at + 9] as number) + 1;
      const [width, height] = [file.readUInt16LE(at + 5), file.readUInt16LE(at + 7)];
      return { headLength, start: at, end: Math.min(skipSubBlocks(file, data), file.length), width, height };
    } else {
      return null;
    }
  }
  return null;
}

function colourTableLength(flags: number): number {
  return flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0;
}

/** Return the offset after the empty block that ends a chain. */
function skipSubBlocks(file: Buffer, from: number): number {
  let at = from;
  for (;;) {
    const length = file[at];
    if (length === undefined || length === 0) return at + 1;
    at += length + 1;
  }
}

function gifSize(file: Buffer): Size | null {
  const frame = findGifFrame(file);
  return frame === null ? null : largest({ width: file.readUInt16LE(6), height: file.readUInt16LE(8) }, frame);
}

export interface WebpChunk {
  readonly type: string;
  readonly data: Buffer;
}

/** Iterate over the first 10,000 chunks of a RIFF body; a truncated last one is shortened. */
export function* webpChunks(body: Buffer): Generator<WebpChunk> {
  let at = 0;
  for (let part = 0; part < PARTS_MAX && at + 8 <= body.length; part++) {
    const length = body.readUInt32LE(at + 4);
    yield { type: ascii(body, at, 4), data: body.subarray(at + 8, at + 8 + length) };
    at += 8 + length + (length & 1);
  }
}

const RIFF_HEAD_BYTES = 12;
/** Length of the position, size, duration and flags of an animation frame, before its chunks. */
export const WEBP_FRAME_HEAD_BYTES = 16;

/** Iterate over the chunks of a WebP file (RFC 9649, 2.3). */
export function webpFileChunks(file: Buffer): Generator<WebpChunk> {
  return webpChunks(file.subarray(RIFF_HEAD_BYTES));
}

function webpSize(file: Buffer): Size | null {
  let canvas: Size | null = null;
  for (const { type, data } of webpFileChunks(file)) {
    if (type === 'VP8X' && data.length >= 10) {
      canvas = { width: data.readUIntLE(4, 3) + 1, height: data.readUIntLE(7, 3) + 1 };
      continue;
    }
    const frame = type === 'ANMF' ? webpFrameSize(data.subarray(WEBP_FRAME_HEAD_BYTES)) : bitstreamSize(type, data);
    if (frame !== null) return canvas === null ? frame : largest(canvas, frame);
    if (type === 'ANMF') return null;
  }
  return null;
}

function webpFrameSize(body: Buffer): Size | null {
  for (const { type, data } of webpChunks(body)) {
    const size = bitstreamSize(type, data);
    if (size !== null) return size;
  }
  return null;
}

/** Read the size from a lossy (RFC 6386, 9.1) or lossless (RFC 9649, 3.4) bitstream. */
export function bitstreamSize(type: string, data: Buffer): Size | null {
  if (type === 'VP8 ' && data.length >= 10 && data.readUIntBE(3, 3) === 0x9d012a) {
    return { width: data.readUInt16LE(6) & 0x3fff, height: data.readUInt16LE(8) & 0x3fff };
  }
  if (type === 'VP8L' && data.length >= 5 && data[0] === 0x2f) {
    const bits = data.readUInt32LE(1);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  return null;
}

function largest(one: Size, other: Size): Size {
  return { width: Math.max(one.width, other.width), height: Math.max(one.height, other.height) };
}
