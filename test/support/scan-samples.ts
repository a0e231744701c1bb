import { deflateSync } from 'node:zlib';
import type { Bitmap } from './draw-text.ts';
import { makeRawPdf, type PdfObject } from './sample-files.ts';

// Generators of scanned documents: PDFs whose pages are pictures, and TIFF files.

/** Image of a PDF. `dict` has the entries of its dictionary without the size. */
export interface ScanImage extends PdfObject {
  readonly width: number;
  readonly height: number;
  /** Placement as `a b c d e f` of a matrix. Default: the whole page. */
  readonly place?: string;
}

export interface ScanPage {
  readonly images?: readonly ScanImage[];
  readonly text?: string;
  /** Rotation in degrees, clockwise. */
  readonly rotate?: number;
}

const PAGE_POINTS = { width: 612, height: 792 };
const WHOLE_PAGE = `${PAGE_POINTS.width} 0 0 ${PAGE_POINTS.height} 0 0`;

/** Encode a bitmap as 8-bit grey, deflated. */
export function greyImage({ width, height, pixels }: Bitmap, place?: string): ScanImage {
  const dict = '/ColorSpace/DeviceGray/BitsPerComponent 8/Filter/FlateDecode';
  return { width, height, dict, stream: deflateSync(pixels), ...(place === undefined ? {} : { place }) };
}

/** Create an invalid image that is declared as JPEG. */
export function damagedImage(): ScanImage {
  const dict = '/ColorSpace/DeviceGray/BitsPerComponent 8/Filter/DCTDecode';
  return { width: 80, height: 60, dict, stream: Buffer.from('not a JPEG at all') };
}

/** Make a PDF whose pages show pictures, text, both or nothing. */
export function makeScanPdf(pages: readonly ScanPage[]): Buffer {
  const objects: PdfObject[] = [
    { dict: '/Type/Catalog/Pages 2 0 R' },
    { dict: '' },
    { dict: '/Type/Font/Subtype/Type1/BaseFont/Helvetica' },
  ];
  const add = (object: PdfObject) => objects.push(object);
  const kids = pages.map(({ images = [], text, rotate = 0 }) => {
    const names = images.map(({ dict, stream = new Uint8Array(), width, height }, index) => {
      const id = add({ dict: `/Type/XObject/Subtype/Image/Width ${width}/Height ${height}${dict}`, stream });
      return `/I${index} ${id} 0 R`;
    });
    const draw = images.map(({ place = WHOLE_PAGE }, index) => `q ${place} cm /I${index} Do Q`);
    if (text !== undefined) draw.push(`BT /F1 11 Tf 72 700 Td (${text}) Tj ET`);
    const content = add({ dict: '', stream: Buffer.from(draw.join('\n')) });
    const box = `[0 0 ${PAGE_POINTS.width} ${PAGE_POINTS.height}]`;
    const resources = `<</Font<</F1 3 0 R>>/XObject<<${names.join('')}>>>>`;
    return add({
      dict: `/Type/Page/Parent 2 0 R/Rotate ${rotate}/MediaBox${box}/Contents ${content} 0 R/Resources${resources}`,
    });
  });
  objects[1] = { dict: `/Type/Pages/Kids[${kids.map((kid) => `${kid} 0 R`).join(' ')}]/Count ${kids.length}` };
  return makeRawPdf(objects);
}

/** Encode bitmaps as uncompressed 8-bit grey TIFF with a directory for each (TIFF 6.0, section 4). */
export function encodeTiff(bitmaps: readonly Bitmap[], order: 'II' | 'MM' = 'II'): Buffer {
  const isLittle = order === 'II';
  const parts: Buffer[] = [Buffer.alloc(8)];
  let length = 8;
  /** Place at which the offset of the next directory is written. */
  let link: { part: Buffer; at: number } = { part: parts[0] as Buffer, at: 4 };
  const u16 = (part: Buffer, value: number, at: number) =>
    isLittle ? part.writeUInt16LE(value, at) : part.writeUInt16BE(value, at);
  const u32 = (part: Buffer, value: number, at: number) =>
    isLittle ? part.writeUInt32LE(value, at) : part.writeUInt32BE(value, at);
  link.part.write(order, 'latin1');
  u16(link.part, 42, 2);
  for (const { width, height, pixels } of bitmaps) {
    const data = Buffer.alloc(pixels.length + (pixels.length & 1));
    data.set(pixels);
    const entries = [
      [256, 4, width],
      [257, 4, height],
      [258, 3, 8], // Bits a sample.
      [259, 3, 1], // Not compressed.
      [262, 3, 1], // Black is zero.
      [273, 4, length], // Offset of the only strip,
      [277, 3, 1],
      [278, 4, height], // its rows,
      [279, 4, pixels.length], // and its bytes.
    ] as const;
    const directory = Buffer.alloc(2 + entries.length * 12 + 4);
    u16(directory, entries.length, 0);
    entries.forEach(([tag, type, value], index) => {
      const at = 2 + index * 12;
      u16(directory, tag, at);
      u16(directory, type, at + 2);
      u32(directory, 1, at + 4);
      if (type === 3) u16(directory, value, at + 8);
      else u32(directory, value, at + 8);
    });
    u32(link.part, length + data.length, link.at);
    parts.push(data, directory);
    length += data.length + directory.length;
    link = { part: directory, at: directory.length - 4 };
  }
  return Buffer.concat(parts);
}

/** Codes of run lengths (ITU-T T.4, tables 2 and 3), for multiples of 8 up to 56 and of 64 up to 448. */
const RUN_CODES = [
  {
    short: '00110101 10011 101010 0101000 00011011 00101001 00001011 01011001',
    long: '11011 10010 010111 0110111 00110110 00110111 01100100',
  },
  {
    short: '0000110111 000101 0000010111 00000010111 000001101010 000001101100 000001100100 000000101000',
    long: '0000001111 000011001000 000011001001 000001011011 000000110011 000000110100 000000110101',
  },
].map(({ short, long }) => ({ short: short.split(' '), long: long.split(' ') }));

const FAX_SCALE = 8;
const HORIZONTAL_MODE = '001';
const END_OF_BLOCK = '000000000001'.repeat(2);

/** Encode a bitmap as fax of group 4 (ITU-T T.6). Dark pixels become black, each pixel a block of 8 x 8. */
export function faxImage({ width, height, pixels }: Bitmap): ScanImage {
  let bits = '';
  for (let y = 0; y < height; y++) {
    const line = runsOf(pixels.subarray(y * width, (y + 1) * width));
    let coded = '';
    for (let i = 0; i < line.length; i += 2) coded += HORIZONTAL_MODE + runCode(line[i], 0) + runCode(line[i + 1], 1);
    bits += coded.repeat(FAX_SCALE);
  }
  bits += END_OF_BLOCK;
  const stream = Buffer.from((bits.match(/.{1,8}/g) ?? []).map((byte) => Number.parseInt(byte.padEnd(8, '0'), 2)));
  const size = { width: width * FAX_SCALE, height: height * FAX_SCALE };
  const parameters = `/DecodeParms<</K -1/Columns ${size.width}/Rows ${size.height}>>`;
  return { ...size, dict: `/ColorSpace/DeviceGray/BitsPerComponent 1/Filter/CCITTFaxDecode${parameters}`, stream };
}

/** Encode a bitmap as JBIG2 (ITU-T T.88, 7.2 and 7.4): a page with one generic region, coded by MMR. */
export function jbig2Image(bitmap: Bitmap): ScanImage {
  const { width, height, stream = Buffer.alloc(0) } = faxImage(bitmap);
  const size = Buffer.alloc(8);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  const page = Buffer.concat([size, Buffer.alloc(11)]);
  const region = Buffer.concat([size, Buffer.alloc(9), Buffer.of(1), stream]);
  const segments = [jbig2Segment(0, 48, page), jbig2Segment(1, 38, region)];
  const dict = '/ColorSpace/DeviceGray/BitsPerComponent 1/Filter/JBIG2Decode';
  return { width, height, dict, stream: Buffer.concat(segments) };
}

function jbig2Segment(number: number, type: number, data: Buffer): Buffer {
  const header = Buffer.alloc(11);
  header.writeUInt32BE(number, 0);
  header[4] = type;
  header[6] = 1;
  header.writeUInt32BE(data.length, 7);
  return Buffer.concat([header, data]);
}

/** Return 32 x 24 pixels of lossless JPEG 2000. Columns 8 to 15 are black, the others white. */
export function jpeg2000Image(): ScanImage {
  return { width: 32, height: 24, dict: '/ColorSpace/DeviceGray/Filter/JPXDecode', stream: JPEG_2000 };
}
const JPEG_2000 = Buffer.from(
  '/0//UQApAAAAAAAgAAAAGAAAAAAAAAAAAAAAIAAAABgAAAAAAAAAAAABBwEB/1IADAAAAAEAAgQEAAH/XAAKQEBISFBISFD/ZAAlAAFDcmVhdGVkIGJ5IE9wZW5KUEVHIHZlcnNpb24gMi41LjT/kAAKAAAAAABzAAH/k9+BcBfVgZIDRSWdGqVa+5bwYLvqCgFL4gq2Yq2l45kdKf6+G8nR10iwUSdLXufd3EHPwFAX1YKfdfOKBPBxd0BG4c0Rym8Sj8/AaCIaQdD/RnSW9O6oCwPhT3dlEwHKRCV6AVq8/9k=',
  'base64',
);

/** Return the lengths of alternating white and black runs, white first. */
function runsOf(line: Uint8Array): number[] {
  const runs: number[] = [0];
  for (const grey of line) {
    const isBlack = grey < 128;
    if (isBlack !== (runs.length % 2 === 0)) runs.push(0);
    runs[runs.length - 1] = (runs.at(-1) as number) + FAX_SCALE;
  }
  return runs;
}

function runCode(length = 0, colour: number): string {
  const { short, long } = RUN_CODES[colour] as (typeof RUN_CODES)[number];
  const makeUp = length >= 64 ? long[Math.floor(length / 64) - 1] : '';
  if (makeUp === undefined) throw new Error(`no code of a run of ${length}`);
  return makeUp + (short[(length % 64) / FAX_SCALE] as string);
}
