import { encodeGreyPng, type GreyImage, type RawImage, stack, toGrey, turnUpright } from './grey-image.ts';
import { loadPdfJs, type PdfJs, type PdfPage } from './load-pdfjs.ts';

/** Pictures of a page that may hold text. */
export interface PageImages {
  /** PNG files, upright, in reading order. */
  readonly files: Uint8Array[];
  /** Whether one of them could not be decoded. */
  readonly isDamaged: boolean;
}

/** Smaller than a line of text. */
const SIDE_PIXELS_MIN = 24;
const AREA_PIXELS_MIN = 2_000;
const PLACED_MAX = 1_000;
/** After the division into at most 3,600 pixels a side. */
const PAGE_PIXELS_MAX = 40_000_000;
const FILES_MAX = 16;
/** How far apart two strips of one scan may be, in points. */
const SEAM_POINTS = 1;

/** [a b c d e f] of PDF 32000-1, 8.3.4. */
type Matrix = readonly [number, number, number, number, number, number];

interface Placed {
  readonly image: string | RawImage;
  readonly toPage: Matrix;
}

/**
 * The pictures that a page shows, each as it is seen on the page: turned upright, the strips of one scan put together.
 * Nothing else of the page is drawn.
 */
export async function imagesOf(page: PdfPage): Promise<PageImages> {
  const { OPS: ops } = await loadPdfJs();
  const { fnArray, argsArray } = await page.getOperatorList();
  const found: Part[] = [];
  let isDamaged = false;
  let pixels = 0;
  for (const { image, toPage } of placedImages(fnArray, argsArray as unknown[][], ops, page)) {
    const raw = typeof image === 'string' ? await decoded(page, image) : image;
    const grey = raw === null ? null : toGrey(raw);
    if (grey === null) {
      isDamaged = true;
      continue;
    }
    if (isSmall(grey)) continue;
    pixels += grey.pixels.length;
    if (pixels > PAGE_PIXELS_MAX) break;
    found.push({ image: turnUpright(grey, orientationOf(toPage)), ...boxOf(toPage) });
  }
  const files = inStrips(found).slice(0, FILES_MAX).map(encodeGreyPng);
  return { files, isDamaged };
}

function isSmall({ width, height }: { width: number; height: number }): boolean {
  return Math.min(width, height) < SIDE_PIXELS_MIN && width * height < AREA_PIXELS_MIN;
}

/** Follows the current transformation matrix through the operators. */
function placedImages(operators: number[], args: unknown[][], ops: PdfJs['OPS'], page: PdfPage): Placed[] {
  const placed: Placed[] = [];
  const stackOfMatrices: Matrix[] = [];
  let matrix = page.getViewport({ scale: 1 }).transform as unknown as Matrix;
  for (const [index, operator] of operators.entries()) {
    const own = args[index] ?? [];
    switch (operator) {
      case ops.save:
        stackOfMatrices.push(matrix);
        break;
      case ops.restore:
      case ops.paintFormXObjectEnd:
        matrix = stackOfMatrices.pop() ?? matrix;
        break;
      case ops.transform:
        matrix = times(matrix, own as unknown as Matrix);
        break;
      case ops.paintFormXObjectBegin:
        stackOfMatrices.push(matrix);
        if (own[0] !== null && own[0] !== undefined) matrix = times(matrix, own[0] as unknown as Matrix);
        break;
      case ops.paintImageXObject:
        placed.push({ image: own[0] as string, toPage: matrix });
        break;
      case ops.paintInlineImageXObject:
        placed.push({ image: own[0] as RawImage, toPage: matrix });
        break;
      case ops.paintImageMaskXObject: {
        const mask = own[0] as { data: string | Uint8Array; width: number; height: number };
        const image = typeof mask.data === 'string' ? mask.data : (mask as RawImage);
        placed.push({ image, toPage: matrix });
        break;
      }
    }
    if (placed.length >= PLACED_MAX) break;
  }
  return placed;
}

function times([a, b, c, d, e, f]: Matrix, [g, h, i, j, k, l]: Matrix): Matrix {
  return [a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * l + e, b * k + d * l + f];
}

/** Objects that several pages share have names of their own; null where pdf.js could not decode one. */
function decoded(page: PdfPage, id: string): Promise<RawImage | null> {
  const objects = id.startsWith('g_') ? page.commonObjs : page.objs;
  return new Promise((resolve) => objects.get(id, resolve as (image: unknown) => void));
}

/** EXIF's number for how the image's rows and columns run on the page, which is seen with y downwards. */
function orientationOf([a, b, c, d]: Matrix): number {
  if (Math.abs(a) + Math.abs(d) >= Math.abs(b) + Math.abs(c)) {
    const isMirrored = a < 0;
    // The image's last row is at 0 of its square: its rows run against d.
    return d <= 0 ? (isMirrored ? 2 : 1) : isMirrored ? 3 : 4;
  }
  const startsAtTop = b > 0;
  return c <= 0 ? (startsAtTop ? 5 : 8) : startsAtTop ? 6 : 7;
}

interface Part {
  readonly image: GreyImage;
  /** On the page, in points, y downwards. */
  readonly left: number;
  readonly top: number;
  readonly bottom: number;
}

function boxOf([a, b, c, d, e, f]: Matrix): Omit<Part, 'image'> {
  const ys = [f, f + b, f + d, f + b + d];
  return { left: Math.min(e, e + a, e + c, e + a + c), top: Math.min(...ys), bottom: Math.max(...ys) };
}

/** From top to bottom; what goes on seamlessly below is one image. */
function inStrips(parts: readonly Part[]): GreyImage[] {
  const runs: Part[][] = [];
  for (const part of parts.toSorted((one, other) => one.top - other.top || one.left - other.left)) {
    const run = runs.find((candidate) => goesOn(candidate.at(-1) as Part, part));
    if (run === undefined) runs.push([part]);
    else run.push(part);
  }
  return runs.map((run) => stack(run.map(({ image }) => image)));
}

function goesOn(above: Part, part: Part): boolean {
  return (
    above.image.width === part.image.width &&
    Math.abs(above.left - part.left) <= SEAM_POINTS &&
    Math.abs(above.bottom - part.top) <= SEAM_POINTS
  );
}
