import { deflateSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import { decodeImage } from '../../src/recognition/decode-images.ts';
import { type OcrOptions, openOcr } from '../../src/recognition/ocr.ts';
import type { Transcriber } from '../../src/recognition/transcriber.ts';
import { type Bitmap, drawText } from '../support/draw-text.ts';
import { pngOf } from '../support/encode-image.ts';
import { keepLogs } from '../support/logs.ts';

export const never = new AbortController().signal;
export const english = drawText(['HELLO WORLD', 'VECTOR SEARCH 2047']);
export const korean = drawText(['한국어 문서', '검색 엔진 서울 도시']);
/** Page of text as PNG; a JPEG of it is eight times as large. */
export const small = drawText(['HELLO WORLD'], { letterPx: 20, marginPx: 16 });
/** Image without text that resembles text, so that the recogniser runs a second pass. */
export const waves = grey(
  ...([800, 600] as const),
  (x, y) => 128 + 100 * Math.sin(x / 17 + 3 * Math.sin(y / 40)) * Math.cos(y / 23),
);

export function grey(width: number, height: number, shade: (x: number, y: number) => number): Bitmap {
  const pixels = new Uint8Array(width * height);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) pixels[y * width + x] = shade(x, y);
  return { width, height, pixels };
}

/** Create an image of 7000 x 7000 pixels in a few kilobytes. */
export const large = () => pngOf(7000, 7000, 2, deflateSync(Buffer.alloc(7000 * 21_001)));

export async function read(ocr: Transcriber, file: Buffer, signal = never): Promise<string> {
  return (await ocr.transcribe(decodeImage(file.toString('base64')), signal)).text;
}

/** Open OCR with one process, which ends with the test. */
export function open(options: OcrOptions = {}): Transcriber {
  const ocr = openOcr(keepLogs().logger, { processesMax: 1, ...options });
  onTestFinished(() => ocr.close());
  return ocr;
}
