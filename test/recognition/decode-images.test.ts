import { describe, expect, it } from 'vitest';
import { decodeImage, IMAGE_BYTES_MAX, ImageFault } from '../../src/recognition/decode-images.ts';
import { drawText } from '../support/draw-text.ts';
import {
  encodeAnimatedWebp,
  encodeGif,
  encodeJpeg,
  encodePng,
  encodeWebp,
  pngOf,
  withExifOrientation,
} from '../support/encode-image.ts';
import { createTestRandom } from '../support/random.ts';

const bitmap = drawText(['A'], { letterPx: 20, marginPx: 4 });
const png = encodePng(bitmap);

function faultOf(text: string): string {
  try {
    decodeImage(text);
  } catch (error) {
    if (error instanceof ImageFault) return error.message;
    throw error;
  }
  throw new Error('it was accepted');
}

function faultOfBytes(bytes: Uint8Array): string {
  return faultOf(Buffer.from(bytes).toString('base64'));
}

describe('decoding an image', () => {
  const size = { width: bitmap.width, height: bitmap.height };
  it.each([
    { format: 'png', file: png, ...size },
    { format: 'gif', file: encodeGif([bitmap]), ...size },
    { format: 'webp', file: encodeWebp(bitmap), ...size },
    { format: 'jpeg', file: encodeJpeg(bitmap), width: bitmap.width * 8, height: bitmap.height * 8 },
    { format: 'gif', file: encodeGif([bitmap, bitmap]), ...size },
    { format: 'webp', file: encodeAnimatedWebp([bitmap, bitmap]), ...size },
  ])('the format $format and the size are read from the bytes alone', ({ format, file, width, height }) => {
    const decoded = decodeImage(file.toString('base64'));
    expect(decoded).toMatchObject({ format, width, height, orientation: 1 });
    expect(file.equals(decoded.bytes)).toBe(true);
  });

  it.each(['data:image/png;base64,', 'data:image/jpeg;base64,', 'DATA:IMAGE/PNG;charset=x;BASE64,', 'data:;base64,'])(
    'takes the prefix %s, whatever it claims',
    (prefix) => {
      expect(decodeImage(prefix + png.toString('base64')).format).toBe('png');
    },
  );

  it('the decoded file has memory of its own, which can be transferred to another thread', () => {
    const { bytes } = decodeImage(pngOf(1, 1, 0, Buffer.alloc(0)).toString('base64'));
    expect(bytes.buffer.byteLength).toBe(bytes.length);
    expect(structuredClone(bytes, { transfer: [bytes.buffer] }).length).toBeGreaterThan(0);
  });

  it('a string that is not strict base64 is refused', () => {
    const good = png.toString('base64');
    const invalid = /^is not valid base64/;
    for (const bad of [
      `${good.slice(0, 40)}!${good.slice(41)}`,
      `${good.slice(0, 40)}\n${good.slice(41)}`,
      `${good.slice(0, 40)}=${good.slice(41)}`,
      `${good.slice(0, 40)}-${good.slice(41)}`,
      `${good.slice(0, 40)}한${good.slice(41)}`,
      `${good.slice(0, 40)}\ud800${good.slice(41)}`,
      good.slice(0, -1),
      good.slice(0, -5),
      `${good}====`,
      '====',
      '=',
      'AAA',
      ` ${good.slice(1)}`,
    ]) {
      expect(faultOf(bad)).toMatch(invalid);
      expect(faultOf(`data:image/png;base64,${bad}`)).toMatch(invalid);
    }
  });

  it('an empty string is refused, also after a prefix', () => {
    expect(faultOf('')).toBe('must not be empty');
    expect(faultOf('data:image/png;base64,')).toBe('must not be empty');
  });

  it('the error of an address explains that addresses are not fetched', () => {
    expect(faultOf('https://example.com/cat.png')).toContain('does not fetch addresses');
  });

  it('a data: URL that is not base64 is refused', () => {
    expect(faultOf('data:image/svg+xml,<svg/>')).toContain('data:image/png;base64');
    expect(faultOf(`data:image/png;x=${'y'.repeat(500)};base64,${png.toString('base64')}`)).toContain('data:image/png');
  });

  it.each([
    ['BM1234567890', 'BMP'],
    ['II*\0abcdefgh', 'TIFF'],
    ['%PDF-1.7 and so on', 'PDF'],
    ['\0\0\0\x18ftypheic....', 'HEIC'],
    ['<svg xmlns="x"/>', 'SVG or XML'],
    ['<!DOCTYPE html>', 'HTML'],
    ['hello, world', 'an unknown format'],
  ])('the error of %j names its format and the accepted ones', (start, name) => {
    expect(faultOfBytes(Buffer.from(start, 'latin1'))).toBe(`is ${name}; PNG, JPEG, WebP and GIF are accepted`);
  });

  it('an image of exactly the largest size is accepted, and one byte more is refused', () => {
    const largest = Buffer.concat([png, Buffer.alloc(IMAGE_BYTES_MAX - png.length)]);
    expect(decodeImage(largest.toString('base64')).bytes.length).toBe(IMAGE_BYTES_MAX);
    expect(faultOfBytes(Buffer.concat([largest, Buffer.alloc(1)]))).toBe('is larger than 10 MB');
  });

  it('declared sizes beyond 50 megapixels, and sizes of zero, are refused', () => {
    const header = (width: number, height: number) => faultOfBytes(pngOf(width, height, 0, Buffer.alloc(10)));
    expect(header(100_000, 100_000)).toBe('has 100000 x 100000 pixels; up to 50 megapixels are accepted');
    expect(header(0, 100)).toBe('has a damaged header');
    expect(decodeImage(pngOf(50_000, 1_000, 0, Buffer.alloc(10)).toString('base64')).width).toBe(50_000);
  });

  it('the size of the first frame counts besides that of the canvas', () => {
    const gif = encodeGif([bitmap]);
    const place = gif.indexOf(Buffer.from([0x21, 0xf9])) + 8;
    gif.writeUInt16LE(60_000, place + 5);
    gif.writeUInt16LE(60_000, place + 7);
    expect(faultOfBytes(gif)).toContain('has 60000 x 60000 pixels');
  });

  it.each([
    ['PNG', png, 24],
    ['JPEG', encodeJpeg(bitmap), 80],
    ['GIF', encodeGif([bitmap]), 13],
    ['WebP', encodeWebp(bitmap), 24],
  ])('a %s that is truncated within its header is refused', (_name, file, headerLength) => {
    for (let length = 12; length < headerLength; length++) {
      expect(faultOfBytes(file.subarray(0, length))).toBe('has a damaged header');
    }
  });

  it.each([
    ['JPEG', encodeJpeg(bitmap), 2, Buffer.from([0xff, 0xe2, 0, 2])],
    ['JPEG with fill bytes', encodeJpeg(bitmap), 2, Buffer.from([0xff])],
    ['GIF', encodeGif([bitmap]), 13 + 3 * 128, Buffer.from([0x21, 0xfe, 0])],
    ['WebP', encodeWebp(bitmap), 12, Buffer.from('XXXX\0\0\0\0', 'latin1')],
  ])('the search for the first frame of a %s is bounded', (_name, file, start, part) => {
    const withParts = (count: number) =>
      Buffer.concat([file.subarray(0, start), ...new Array<Buffer>(count).fill(part), file.subarray(start)]);
    expect(decodeImage(withParts(5_000).toString('base64')).width).toBeGreaterThan(0);
    expect(faultOfBytes(withParts(20_000))).toBe('has a damaged header');
  });

  it('headers of random bytes are read or refused', () => {
    const random = createTestRandom('headers of random bytes');
    for (const file of [png, encodeJpeg(bitmap), encodeGif([bitmap]), encodeAnimatedWebp([bitmap])]) {
      for (let round = 0; round < 300; round++) {
        const broken = Buffer.from(file);
        for (let i = 0; i < 4; i++) broken[12 + random.int(120)] = random.int(256);
        const outcome = (() => {
          try {
            return decodeImage(broken.toString('base64')).format;
          } catch (error) {
            return error instanceof ImageFault ? 'refused' : error;
          }
        })();
        expect(['refused', 'png', 'jpeg', 'gif', 'webp']).toContain(outcome);
      }
    }
  });

  it('the EXIF orientation of a photograph is read in both byte orders', () => {
    const jpeg = encodeJpeg(bitmap);
    for (const order of ['II', 'MM'] as const) {
      for (const orientation of [1, 3, 6, 8]) {
        const photo = withExifOrientation(jpeg, orientation, order);
        expect(decodeImage(photo.toString('base64')).orientation).toBe(orientation);
      }
      expect(decodeImage(withExifOrientation(jpeg, 99, order).toString('base64')).orientation).toBe(1);
    }
  });
});
