import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeImage } from '../../src/recognition/decode-images.ts';
import { openOcr } from '../../src/recognition/ocr.ts';
import type { Transcriber } from '../../src/recognition/transcriber.ts';
import { drawText } from '../support/draw-text.ts';
import {
  encodeAnimatedWebp,
  encodeGif,
  encodeJpeg,
  encodePng,
  encodeWebp,
  pngOf,
  rotateLeft,
  withExifOrientation,
} from '../support/encode-image.ts';
import { keepLogs } from '../support/logs.ts';
import { english, grey, korean, never, read, small } from './ocr-samples.ts';

const other = drawText(['SECOND FRAME']);

describe('reading text in images on this machine', () => {
  let ocr: Transcriber;
  beforeAll(() => {
    ocr = openOcr(keepLogs().logger, { processesMax: 1 });
  });
  afterAll(() => ocr.close());

  it.each([
    ['PNG', encodePng(english)],
    ['GIF', encodeGif([english])],
    ['animated GIF, its first frame', encodeGif([english, other])],
    ['WebP', encodeWebp(english)],
    ['animated WebP, its first frame', encodeAnimatedWebp([english, other])],
  ])('OCR reads English in a %s', async (_name, file) => {
    expect(await read(ocr, file)).toBe('HELLO WORLD\nVECTOR SEARCH 2047');
  });

  it('OCR reads a JPEG', async () => {
    expect(await read(ocr, encodeJpeg(small))).toBe('HELLO WORLD');
  });

  it('OCR rotates a photograph by its EXIF orientation', async () => {
    expect(await read(ocr, withExifOrientation(encodeJpeg(rotateLeft(small)), 6, 'II'))).toBe('HELLO WORLD');
  });

  it('OCR tells how sure it is of a text', async () => {
    const clean = await ocr.transcribe(decodeImage(encodePng(english).toString('base64')), never);
    expect(clean.confidence).toBeGreaterThan(90);
    const none = await ocr.transcribe(decodeImage(encodePng(grey(400, 300, () => 255)).toString('base64')), never);
    expect(none).toMatchObject({ text: '', confidence: null });
  });

  it('OCR reads Korean with its spaces', async () => {
    expect(await read(ocr, encodePng(korean))).toBe('한국어 문서\n검색 엔진 서울 도시');
  });

  it('OCR reads Korean and English in one image', async () => {
    expect(await read(ocr, encodePng(drawText(['SEOUL 서울 도시', 'OPEN 서울 2024'])))).toBe(
      'SEOUL 서울 도시\nOPEN 서울 2024',
    );
  });

  it('OCR reads light text on a dark background', async () => {
    const inverted = { ...english, pixels: english.pixels.map((shade) => 255 - shade) };
    expect(await read(ocr, encodePng(inverted))).toBe('HELLO WORLD\nVECTOR SEARCH 2047');
  });

  it.each([
    ['a white image', grey(400, 300, () => 255)],
    ['an image of one pixel', grey(1, 1, () => 0)],
  ])('OCR finds no text in %s', async (_name, bitmap) => {
    expect(await read(ocr, encodePng(bitmap))).toBe('');
  });

  it('OCR refuses a file without pixels, and reads the next image', async () => {
    const files = [pngOf(100, 100, 0, Buffer.alloc(0)), pngOf(100, 100, 6, Buffer.from('no zlib data at all'))];
    for (const file of files) {
      await expect(read(ocr, file)).rejects.toMatchObject({ code: 'image_unreadable', status: 400 });
    }
    expect(await read(ocr, encodePng(english))).toContain('HELLO');
  });

  it('OCR reads or refuses a truncated file, and reads the next image', async () => {
    const file = encodePng(english);
    const outcome = await read(ocr, file.subarray(0, file.length / 2)).catch((error) => error.code);
    expect(outcome).toBeTypeOf('string');
    expect(await read(ocr, file)).toBe('HELLO WORLD\nVECTOR SEARCH 2047');
  });
});
