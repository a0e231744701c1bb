import { crc32, deflateSync } from 'node:zlib';

/** 8-bit grey image, row-major [height x width]; 255 is white. */
export interface GreyImage {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
}

/** Pixels as decoded by pdf.js. */
export interface RawImage {
  readonly width: number;
  readonly height: number;
  /**
   * Pixel format. 1: one bit per pixel, rows padded to bytes, 1 is white; 2: RGB; 3: RGBA. Absent for masks, which are
   * of kind 1.
   */
  readonly kind?: number;
  readonly data?: Uint8Array | Uint8ClampedArray;
}

/** Maximum side length. A4 at 300 dpi has 3,508 rows; more pixels make recognition slower but not better. */
const SIDE_PIXELS_MAX = 3_600;
const DEFLATE_LEVEL = 3;

/**
 * Convert an image to grey, and divide its sides by the smallest integer that brings both below 3,600 pixels.
 * @returns null if the result would be empty or there are fewer bytes than pixels
 */
export function toGrey(raw: RawImage): GreyImage | null {
  const addRow = rowReader(raw);
  if (addRow === null) return null;
  const factor = Math.max(1, Math.ceil(Math.max(raw.width, raw.height) / SIDE_PIXELS_MAX));
  const width = Math.floor(raw.width / factor);
  const height = Math.floor(raw.height / factor);
  if (width === 0 || height === 0) return null;
  const pixels = new Uint8Array(width * height);
  const sums = new Float64Array(width);
  const scale = 1 / (factor * factor);
  for (let y = 0; y < height; y++) {
    sums.fill(0);
    for (let dy = 0; dy < factor; dy++) addRow(y * factor + dy, factor, sums);
    const at = y * width;
    for (let x = 0; x < width; x++) pixels[at + x] = (sums[x] as number) * scale + 0.5;
  }
  return { width, height, pixels };
}

/** Function that adds the grey values of a row of pixels to sums over `factor` pixels each. */
type AddRow = (row: number, factor: number, sums: Float64Array) => void;

function rowReader({ width, height, kind = 1, data }: RawImage): AddRow | null {
  if (data === undefined) return null;
  switch (kind) {
    case 1: {
      const stride = (width + 7) >> 3;
      return data.length < stride * height ? null : bitRows(data, stride);
    }
    case 2:
      return data.length < width * height * 3 ? null : colourRows(data, width * 3, 3);
    case 3:
      return data.length < width * height * 4 ? null : colourRows(data, width * 4, 4);
    default:
      return null;
  }
}

function bitRows(data: Uint8Array | Uint8ClampedArray, stride: number): AddRow {
  return (row, factor, sums) => {
    const at = row * stride;
    for (let x = 0, from = 0; x < sums.length; x++) {
      let white = 0;
      for (let i = 0; i < factor; i++, from++) white += ((data[at + (from >> 3)] as number) >> (7 - (from & 7))) & 1;
      sums[x] = (sums[x] as number) + white * 255;
    }
  };
}

/**
 * Convert rows of colours to luma by ITU-R BT.601, in 256ths, so that grey values stay the same. Transparent pixels
 * become white.
 */
function colourRows(data: Uint8Array | Uint8ClampedArray, stride: number, channels: 3 | 4): AddRow {
  return (row, factor, sums) => {
    let at = row * stride;
    for (let x = 0; x < sums.length; x++) {
      let sum = 0;
      for (let i = 0; i < factor; i++, at += channels) {
        const red = data[at] as number;
        const luma = (77 * red + 150 * (data[at + 1] as number) + 29 * (data[at + 2] as number)) >> 8;
        sum += channels === 3 ? luma : 255 + ((luma - 255) * (data[at + 3] as number)) / 255;
      }
      sums[x] = (sums[x] as number) + sum;
    }
  };
}

/** Rotate and mirror an image upright. @param orientation EXIF orientation, 1 (upright) to 8 */
export function applyOrientation(image: GreyImage, orientation: number): GreyImage {
  if (orientation === 1) return image;
  const { width, height, pixels } = image;
  const swapsAxes = orientation >= 5;
  const rotated = { width: swapsAxes ? height : width, height: swapsAxes ? width : height };
  const isRightToLeft = orientation === 2 || orientation === 3 || orientation === 7 || orientation === 8;
  const isBottomUp = orientation === 3 || orientation === 4 || orientation === 6 || orientation === 7;
  const upright = new Uint8Array(pixels.length);
  for (let y = 0; y < rotated.height; y++) {
    for (let x = 0; x < rotated.width; x++) {
      const column = swapsAxes ? y : x;
      const row = swapsAxes ? x : y;
      const sourceX = isRightToLeft ? width - 1 - column : column;
      const sourceY = isBottomUp ? height - 1 - row : row;
      upright[y * rotated.width + x] = pixels[sourceY * width + sourceX] as number;
    }
  }
  return { ...rotated, pixels: upright };
}

/** Stack images of equal width vertically. */
export function stack(images: readonly GreyImage[]): GreyImage {
  const [first] = images;
  if (first === undefined) throw new Error('nothing to stack');
  if (images.length === 1) return first;
  const height = images.reduce((sum, image) => sum + image.height, 0);
  const pixels = new Uint8Array(first.width * height);
  let at = 0;
  for (const image of images) {
    pixels.set(image.pixels, at);
    at += image.pixels.length;
  }
  return { width: first.width, height, pixels };
}

/** Encode a PNG file: 8-bit grey, no filter (W3C PNG, third edition, 5 and 11.2). */
export function encodeGreyPng({ width, height, pixels }: GreyImage): Buffer {
  const rows = new Uint8Array(height * (width + 1));
  for (let y = 0; y < height; y++) rows.set(pixels.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8;
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows, { level: DEFLATE_LEVEL })),
    chunk('IEND', new Uint8Array()),
  ]);
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(body.length + 8);
  frame.writeUInt32BE(data.length, 0);
  frame.set(body, 4);
  frame.writeUInt32BE(crc32(body), body.length + 4);
  return frame;
}
