import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ExtractError } from '../../src/ingest/extract/errors.ts';
import { extractDocument } from '../../src/ingest/extract/extract-document.ts';
import { type Bitmap, drawText } from '../support/draw-text.ts';
import { encodePng } from '../support/encode-image.ts';
import { decodePng, extract, gradient, picture, sizeOf } from '../support/read-pictures.ts';
import {
  damagedImage,
  encodeTiff,
  faxImage,
  greyImage,
  jbig2Image,
  jpeg2000Image,
  makeScanPdf,
  type ScanImage,
} from '../support/scan-samples.ts';

test('the text of a scanned page is at the position of the page', async () => {
  const pdf = makeScanPdf([
    { text: 'before' },
    { images: [picture(90)] },
    { text: 'between' },
    { images: [picture(80)] },
    {},
  ]);
  // The first picture takes longer than the second.
  const read = async (file: Uint8Array) => {
    if (sizeOf(file).includes('90')) await delay(50);
    return sizeOf(file);
  };
  const document = await extract(pdf, 'scan.pdf', read);
  expect(document.blocks.map(({ text, page }) => [text, page])).toEqual([
    ['before', 1],
    ['picture 90 x 60', 2],
    ['between', 3],
    ['picture 80 x 60', 4],
  ]);
  expect(document).toMatchObject({ pages: 5, emptyPages: [5], failedPages: [], recognisedPages: [2, 4] });
});

test('pictures on pages with text are read only with the strategy always', async () => {
  const pdf = makeScanPdf([{ text: 'a page', images: [picture(90)] }]);
  expect((await extract(pdf, 'a.pdf')).text).toBe('a page');
  expect((await extract(pdf, 'a.pdf', undefined, { strategy: 'always' })).text).toBe('a page\n\npicture 90 x 60');
});

test('a scan has empty pages if pictures are not read', async () => {
  const bytes = makeScanPdf([{ images: [picture(90)] }]);
  const file = { open: () => Readable.from([bytes]), sizeBytes: bytes.length, fileName: 'scan.pdf' };
  expect(await extractDocument(file)).toMatchObject({ text: '', emptyPages: [1], recognisedPages: [] });
});

test('a page with a picture that cannot be read is a failed page, and the others are read', async () => {
  const pdf = makeScanPdf([{ images: [damagedImage()] }, { images: [picture(90)] }, { images: [picture(70)] }]);
  const read = async (file: Uint8Array) => {
    if (sizeOf(file).includes('90')) throw new ExtractError('corrupt', 'cannot be read');
    return sizeOf(file);
  };
  const document = await extract(pdf, 'scan.pdf', read);
  expect(document).toMatchObject({
    text: 'picture 70 x 60',
    failedPages: [1, 2],
    recognisedPages: [3],
    emptyPages: [],
  });
});

test('pages whose pictures cannot be read keep their text, also if this holds for every page', async () => {
  const pdf = makeScanPdf([{ text: 'a page', images: [damagedImage()] }]);
  const document = await extract(pdf, 'a.pdf', undefined, { strategy: 'always' });
  expect(document).toMatchObject({ text: 'a page', failedPages: [1], emptyPages: [] });
  await expect(extract(makeScanPdf([{ images: [damagedImage()] }]), 'a.pdf')).rejects.toMatchObject({
    category: 'corrupt',
  });
});

test('the number of pictures that are read and the time for them are bounded', async () => {
  const pages = Array.from({ length: 5 }, (_, i) => ({ images: [picture(100 + i)] }));
  const pdf = makeScanPdf(pages);
  const few = await extract(pdf, 'scan.pdf', undefined, { limits: { imagesMax: 2 } });
  expect(few).toMatchObject({ recognisedPages: [1, 2], failedPages: [3, 4, 5], emptyPages: [] });
  const late = await extract(pdf, 'scan.pdf', undefined, { limits: { imagesMs: 0 } });
  expect(late).toMatchObject({ recognisedPages: [], failedPages: [1, 2, 3, 4, 5] });
});

test('an error that concerns all pictures ends the reading', async () => {
  const pdf = makeScanPdf(Array.from({ length: 8 }, () => ({ images: [picture(90)] })));
  const unavailable = new Error('the model is unavailable');
  await expect(extract(pdf, 'scan.pdf', () => Promise.reject(unavailable))).rejects.toBe(unavailable);
});

test('an abort ends the reading of pictures', async () => {
  const controller = new AbortController();
  const reason = new Error('the lease is lost');
  const read = (_: Uint8Array, signal: AbortSignal) =>
    new Promise<string>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
      controller.abort(reason);
    });
  const pdf = makeScanPdf([{ images: [picture(90)] }]);
  await expect(extract(pdf, 'scan.pdf', read, { signal: controller.signal })).rejects.toBe(reason);
});

/**
 * Placements of a picture on a page of 612 x 792 points: matrix, rotation of the page, and the picture as it is seen.
 */
const PLACEMENTS: [string, number, (bitmap: Bitmap) => Bitmap][] = [
  ['612 0 0 792 0 0', 0, (bitmap) => bitmap],
  ['-612 0 0 792 612 0', 0, (bitmap) => mapped(bitmap, (x, y) => [bitmap.width - 1 - x, y])],
  ['-612 0 0 -792 612 792', 0, (bitmap) => mapped(bitmap, (x, y) => [bitmap.width - 1 - x, bitmap.height - 1 - y])],
  ['612 0 0 -792 0 792', 0, (bitmap) => mapped(bitmap, (x, y) => [x, bitmap.height - 1 - y])],
  ['612 0 0 792 0 0', 180, (bitmap) => mapped(bitmap, (x, y) => [bitmap.width - 1 - x, bitmap.height - 1 - y])],
  ['612 0 0 792 0 0', 90, (bitmap) => transposed(bitmap, (x, y) => [y, bitmap.height - 1 - x])],
  ['612 0 0 792 0 0', 270, (bitmap) => transposed(bitmap, (x, y) => [bitmap.width - 1 - y, x])],
  // The matrix rotates by a quarter to the left.
  ['0 792 -612 0 612 0', 0, (bitmap) => transposed(bitmap, (x, y) => [bitmap.width - 1 - y, x])],
  ['0 -792 612 0 0 792', 0, (bitmap) => transposed(bitmap, (x, y) => [y, bitmap.height - 1 - x])],
  ['0 -792 -612 0 612 792', 0, (bitmap) => transposed(bitmap, (x, y) => [y, x])],
];

/** Rearranges the pixels of a picture. @param source position of the pixel that becomes x, y of the result */
function mapped(
  bitmap: Bitmap,
  source: (x: number, y: number) => [number, number],
  size: { width: number; height: number } = bitmap,
): Bitmap {
  const pixels = new Uint8Array(bitmap.pixels.length);
  for (let y = 0; y < size.height; y++) {
    for (let x = 0; x < size.width; x++) {
      const [fromX, fromY] = source(x, y);
      pixels[y * size.width + x] = bitmap.pixels[fromY * bitmap.width + fromX] as number;
    }
  }
  return { width: size.width, height: size.height, pixels };
}

function transposed(bitmap: Bitmap, source: (x: number, y: number) => [number, number]): Bitmap {
  return mapped(bitmap, source, { width: bitmap.height, height: bitmap.width });
}

test('a picture is passed on as it is seen on its page', async () => {
  const bitmap = gradient(80, 50);
  const pdf = makeScanPdf(PLACEMENTS.map(([place, rotate]) => ({ images: [greyImage(bitmap, place)], rotate })));
  const seen = new Map<number, Bitmap>();
  const read = async (file: Uint8Array) => {
    seen.set(seen.size, decodePng(file));
    return 'text';
  };
  await extract(pdf, 'rotated.pdf', read);
  for (const [index, [place, rotate, expected]] of PLACEMENTS.entries()) {
    expect(seen.get(index), `${place} at ${rotate}`).toEqual(expected(bitmap));
  }
});

test('the strips of a scan are one picture, from top to bottom', async () => {
  const [top, bottom] = [gradient(90, 40), gradient(90, 30)];
  const strips = [greyImage(bottom, '612 0 0 300 0 92'), greyImage(top, '612 0 0 400 0 392')];
  const seen: Bitmap[] = [];
  await extract(makeScanPdf([{ images: strips }]), 'strips.pdf', async (file) => {
    seen.push(decodePng(file));
    return 'text';
  });
  expect(seen).toEqual([{ width: 90, height: 70, pixels: new Uint8Array([...top.pixels, ...bottom.pixels]) }]);
});

test('a picture of 35 megapixels is read in a smaller size and within the memory', async () => {
  const [width, height] = [4_960, 7_016];
  const pixels = new Uint8Array(width * height).fill(255);
  pixels.fill(0, 0, width * 100);
  const document = await extract(makeScanPdf([{ images: [greyImage({ width, height, pixels })] }]), 'large.pdf');
  expect(document.text).toBe('picture 2480 x 3508');
  expect(document.peakMemoryBytes ?? 0).toBeLessThan(512 * 1024 * 1024);
});

test('a picture that claims to be enormous is not decoded', async () => {
  const bomb: ScanImage = { ...picture(80), width: 60_000, height: 60_000 };
  const document = await extract(makeScanPdf([{ images: [bomb] }, { images: [picture(80)] }]), 'bomb.pdf');
  expect(document).toMatchObject({ emptyPages: [1], recognisedPages: [2] });
  expect(document.peakMemoryBytes ?? 0).toBeLessThan(256 * 1024 * 1024);
});

test('black and white pictures, coloured pictures and masks give the same pixels', async () => {
  // The picture has a black and a white column of 32 pixels each.
  const bits = Buffer.from(Array.from({ length: 64 }, () => [0, 0, 0, 0, 255, 255, 255, 255]).flat());
  const size = { width: 64, height: 64 };
  const rgb = Buffer.from(
    Array.from({ length: 64 * 64 }, (_, i) => (i % 64 < 32 ? [0, 0, 0] : [255, 255, 255])).flat(),
  );
  const images: ScanImage[] = [
    { ...size, dict: '/ColorSpace/DeviceGray/BitsPerComponent 1', stream: bits },
    { ...size, dict: '/ImageMask true/BitsPerComponent 1', stream: bits },
    { ...size, dict: '/ColorSpace/DeviceRGB/BitsPerComponent 8', stream: rgb },
  ];
  const expected = Uint8Array.from({ length: 64 * 64 }, (_, i) => (i % 64 < 32 ? 0 : 255));
  const seen: Bitmap[] = [];
  await extract(makeScanPdf(images.map((image) => ({ images: [image] }))), 'kinds.pdf', async (file) => {
    seen.push(decodePng(file));
    return 'text';
  });
  expect(seen).toEqual(images.map(() => ({ ...size, pixels: expected })));
});

test.each([
  ['a fax image', faxImage],
  ['a JBIG2 image', jbig2Image],
])('%s is decoded', async (_, encode) => {
  const bitmap = drawText(['FAX'], { letterPx: 12, marginPx: 5 });
  const { width, height, pixels } = await pictureOf(encode(bitmap));
  expect([width, height]).toEqual([bitmap.width * 8, bitmap.height * 8]);
  const middle = (_: unknown, i: number) =>
    pixels[(Math.floor(i / bitmap.width) * 8 + 4) * width + (i % bitmap.width) * 8 + 4];
  expect(Array.from(bitmap.pixels, middle)).toEqual(Array.from(bitmap.pixels, (grey) => (grey < 128 ? 0 : 255)));
});

test('a JPEG 2000 image is decoded', async () => {
  const { width, height, pixels } = await pictureOf(jpeg2000Image());
  expect([width, height]).toEqual([32, 24]);
  const isBlack = Array.from(pixels, (grey) => (grey < 128 ? 1 : 0));
  expect(isBlack).toEqual(Array.from({ length: 32 * 24 }, (_, i) => (i % 32 >= 8 && i % 32 < 16 ? 1 : 0)));
});

/** Picture that is passed on from a page with one image. */
async function pictureOf(image: ScanImage): Promise<Bitmap> {
  const seen: Bitmap[] = [];
  await extract(makeScanPdf([{ images: [image] }]), 'scan.pdf', async (file) => {
    seen.push(decodePng(file));
    return 'text';
  });
  return seen[0] as Bitmap;
}

test('a picture file is read as a whole', async () => {
  const document = await extract(encodePng(gradient(50, 40)), 'photo.png');
  expect(document).toMatchObject({ format: 'png', pages: 1, text: 'picture 50 x 40', emptyPages: [] });
});

test('a picture under the name of a text is still a picture', async () => {
  expect(await extract(encodePng(gradient(50, 40)), 'notes.txt')).toMatchObject({ format: 'png' });
});

test.each(['II', 'MM'] as const)('each page of a TIFF file is read (%s)', async (order) => {
  const tiff = encodeTiff([gradient(50, 40), gradient(30, 20)], order);
  const isLittle = order === 'II';
  // The width is that of the first directory of each file.
  const read = async (file: Uint8Array) => {
    const view = new DataView(file.buffer, file.byteOffset);
    const directory = view.getUint32(4, isLittle);
    return `width ${view.getUint32(directory + 10, isLittle)}`;
  };
  const document = await extract(tiff, 'fax.tif', read);
  expect(document).toMatchObject({ format: 'tiff', pages: 2, recognisedPages: [1, 2] });
  expect(document.blocks.map(({ text, page }) => [text, page])).toEqual([
    ['width 50', 1],
    ['width 30', 2],
  ]);
});

test('reading a TIFF file with circular or missing directories ends', async () => {
  const tiff = encodeTiff([gradient(50, 40)]);
  const directory = tiff.readUInt32LE(4);
  tiff.writeUInt32LE(directory, tiff.length - 4);
  expect(await extract(tiff, 'circle.tif', async () => 'once')).toMatchObject({ pages: 1, text: 'once' });
  tiff.writeUInt32LE(0xfffffff0, 4);
  await expect(extract(tiff, 'nowhere.tif')).rejects.toMatchObject({ category: 'corrupt' });
});

test('a picture file that cannot be read fails with the error of its recognition', async () => {
  const fault = new ExtractError('too_large', 'takes too long');
  await expect(extract(encodePng(gradient(50, 40)), 'a.png', () => Promise.reject(fault))).rejects.toBe(fault);
});

test('a picture file is of an unsupported type if pictures are not read', async () => {
  const bytes = encodePng(gradient(50, 40));
  const file = { open: () => Readable.from([bytes]), sizeBytes: bytes.length, fileName: 'a.png' };
  await expect(extractDocument(file)).rejects.toMatchObject({ category: 'unsupported_type', message: /ocr_strategy/ });
});
