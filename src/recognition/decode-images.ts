import { foreignFormatOf, formatOf, type ImageFormat, readImageHeader } from './image-header.ts';

const MIB = 1024 * 1024;
export const IMAGE_BYTES_MAX = 10 * MIB;
/** Maximum number of pixels declared in a header, since a small file can unpack to any size. */
export const IMAGE_PIXELS_MAX = 50_000_000;
/** Maximum length of a `data:` URL's part before the comma. */
const PREFIX_CHARS_MAX = 200;

export interface DecodedImage {
  /** Whole file, in its own memory, so that it can be transferred to another thread. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly format: ImageFormat;
  /** Pixels, as the header declares them. */
  readonly width: number;
  readonly height: number;
  /** EXIF orientation, 1 (upright) to 8. */
  readonly orientation: number;
}

/**
 * Fault of a string that isn't an accepted image. The message follows `images[3]: ` and quotes nothing from the string.
 */
export class ImageFault extends Error {
  override readonly name = 'ImageFault';
}

/**
 * Decode a base64 string, with or without a `data:image/…;base64,` prefix, to an image file, and check its header. The
 * format is determined by the magic bytes, not by the media type of the prefix.
 *
 * Takes a few milliseconds for 10 MB.
 *
 * @throws ImageFault
 */
export function decodeImage(text: string): DecodedImage {
  return checkImage(decodeBase64(text, startOfBase64(text)));
}

/** Check the header of an image file. The magic bytes determine its format. @throws ImageFault */
export function checkImage(bytes: Uint8Array<ArrayBuffer>): DecodedImage {
  if (formatOf(bytes) === null) {
    throw new ImageFault(`is ${foreignFormatOf(bytes)}; PNG, JPEG, WebP and GIF are accepted`);
  }
  const header = readImageHeader(bytes);
  if (header === null || header.width === 0 || header.height === 0) {
    throw new ImageFault('has a damaged header');
  }
  checkPixels(header);
  return { bytes, ...header };
}

/** @throws ImageFault */
export function checkPixels({ width, height }: { readonly width: number; readonly height: number }): void {
  if (width * height <= IMAGE_PIXELS_MAX) return;
  throw new ImageFault(`has ${width} x ${height} pixels; up to ${IMAGE_PIXELS_MAX / 1e6} megapixels are accepted`);
}

function startOfBase64(text: string): number {
  const start = text.slice(0, PREFIX_CHARS_MAX);
  if (/^https?:/i.test(start))
    throw new ImageFault('must be the image itself in base64; the service does not fetch addresses');
  if (!/^data:/i.test(start)) return 0;
  const comma = start.indexOf(',');
  if (comma < 0 || !/;base64$/i.test(start.slice(0, comma))) {
    throw new ImageFault('a data: URL must have the form data:image/png;base64,…');
  }
  return comma + 1;
}

/** Decode base64 by RFC 4648, 4, with padding and without line breaks. */
function decodeBase64(text: string, from: number): Uint8Array<ArrayBuffer> {
  const chars = text.length - from;
  if (chars === 0) throw new ImageFault('must not be empty');
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const length = Math.floor(chars / 4) * 3 - padding;
  if (length > IMAGE_BYTES_MAX) throw new ImageFault(`is larger than ${IMAGE_BYTES_MAX / MIB} MB`);
  const invalid = 'is not valid base64 (standard alphabet, padded, without line breaks)';
  if (chars % 4 !== 0 || length <= 0) throw new ImageFault(invalid);
  // Node's pool of small buffers can't be transferred, so allocate outside it.
  const bytes = Buffer.allocUnsafeSlow(length);
  // The decoder skips invalid characters, so any of them results in too few bytes. But it also accepts the URL
  // alphabet.
  const written = bytes.write(from === 0 ? text : text.slice(from), 'base64');
  if (written !== length || text.includes('-', from) || text.includes('_', from)) throw new ImageFault(invalid);
  return new Uint8Array(bytes.buffer, 0, length);
}
