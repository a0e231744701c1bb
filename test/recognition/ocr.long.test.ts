import { afterAll, beforeAll, expect, it } from 'vitest';
import { openOcr } from '../../src/recognition/ocr.ts';
import type { Transcriber } from '../../src/recognition/transcriber.ts';
import { encodeGif, encodeJpeg, encodePng, encodeWebp, rotateLeft } from '../support/encode-image.ts';
import { keepLogs } from '../support/logs.ts';
import { english, grey, korean, large, open, read, small, waves } from './ocr-samples.ts';

/** Limits that a busy machine does not exceed. */
const PATIENT = { imageMs: 120_000, secondPassMs: 120_000 };

let ocr: Transcriber;
beforeAll(() => {
  ocr = openOcr(keepLogs().logger, { processesMax: 1 });
});
afterAll(() => ocr.close());

it.each([
  ['white', grey(400, 300, () => 255)],
  ['black', grey(400, 300, () => 0)],
  ['a gradient', grey(400, 300, (x, y) => (x + y) % 256)],
  ['waves', waves],
  ['noise', grey(400, 300, (x, y) => (Math.imul(x * 7919 + y, 2654435761) >>> 16) & 255)],
  ['one pixel', grey(1, 1, () => 0)],
  ['a line', grey(5000, 1, () => 0)],
  ['a column', grey(1, 5000, (_x, y) => (y % 2) * 255)],
])('finds no text in %s', async (_name, bitmap) => {
  expect(await read(ocr, encodePng(bitmap))).toBe('');
});

it('OCR reads or refuses truncated and damaged files, without any other failure', async () => {
  for (const file of [encodePng(english), encodeJpeg(small), encodeGif([english]), encodeWebp(english)]) {
    const broken = [0.3, 0.9].map((share) => file.subarray(0, Math.floor(file.length * share)));
    for (const step of [97, 1013]) {
      const damaged = Buffer.from(file);
      for (let at = 200; at < damaged.length; at += step) damaged[at] = (damaged[at] as number) ^ 0x5a;
      broken.push(damaged);
    }
    for (const bytes of broken) {
      const outcome = await read(ocr, bytes).catch((error) => error.code);
      expect(outcome).toBeTypeOf('string');
    }
  }
  expect(await read(ocr, encodePng(english))).toBe('HELLO WORLD\nVECTOR SEARCH 2047');
});

it('OCR continues after sizes that the recogniser does not accept', async () => {
  const outcome = await read(ocr, encodePng(grey(40_000, 30, () => 255))).catch((error) => error.code);
  expect(['', 'image_unreadable']).toContain(outcome);
  expect(await read(ocr, encodePng(korean))).toContain('한국어');
});

it('OCR continues after an image that unpacks to 150 MB', async () => {
  expect(await read(ocr, large())).toBe('');
  expect(await read(ocr, encodePng(english))).toContain('HELLO');
}, 60_000);

it.each([90, 180, 270])('OCR reads a page that is turned by %i degrees', async (degrees) => {
  let turned = english;
  for (let angle = 0; angle < degrees; angle += 90) turned = rotateLeft(turned);
  expect(await read(open(PATIENT), encodePng(turned))).toBe('HELLO WORLD\nVECTOR SEARCH 2047');
});

it('OCR reads Korean that is turned upside down', async () => {
  expect(await read(open(PATIENT), encodePng(rotateLeft(rotateLeft(korean))))).toBe('한국어 문서\n검색 엔진 서울 도시');
});
