import { applyOrientation, encodeGreyPng, type GreyImage, type RawImage, stack, toGrey } from './grey-image.ts';
import { loadPdfJs, type PdfJs, type PdfPage } from './load-pdfjs.ts';

/** Pictures of a page that may contain text. */
export interface PageImages {
  /** PNG files, upright, in reading order. */
  readonly files: Uint8Array[];
  /** True if a picture could not be decoded. */
  readonly isDamaged: boolean;
}

/** Minimum side length. A smaller picture can't contain a line of text. */
const SIDE_PIXELS_MIN = 24;
const AREA_PIXELS_MIN = 2_000;
const PLACEMENTS_MAX = 1_000;
/** Maximum number of pixels per page, after the reduction to at most 3,600 pixels per side. */
const PAGE_PIXELS_MAX = 40_000_000;
const FILES_MAX = 16;
/** Maximum distance between two strips of a scan, in points. */
const SEAM_POINTS = 1;

/** Transformation matrix [a b c d e f] (PDF 32000-1, 8.3.4). */
type Matrix = readonly [number, number, number, number, number, number];

interface Placement {
  readonly image: string | RawImage;
  readonly toPage: Matrix;
}

/**
 * Extract the pictures of a page as displayed: rotated upright, with the strips of a scan joined. Draw nothing else of
 * the page.
 */
export async function imagesOf(page: PdfPage): Promise<PageImages> {
  const { OPS: ops } = await loadPdfJs();
  const { fnArray, argsArray } = await page.getOperatorList();
  const found: Part[] = [];
  let isDamaged = false;
  let pixels = 0;
  for (const { image, toPage } of findPlacements(fnArray, argsArray as unknown[][], ops, page)) {
    const raw = typeof image === 'string' ? await decoded(page, image) : image;
    const grey = raw === null ? null : toGrey(raw);
    if (grey === null) {
      isDamaged = true;
      continue;
    }
    if (isSmall(grey)) continue;
    pixels += grey.pixels.length;
    if (pixels > PAGE_PIXELS_MAX) break;
    found.push({ image: applyOrientation(grey, orientationOf(toPage)), ...boxOf(toPage) });
  }
  const files = joinStrips(found).slice(0, FILES_MAX).map(encodeGreyPng);
  return { files, isDamaged };
}

function isSmall({ width, height }: { width: number; height: number }): boolean {
  return Math.min(width, height) < SIDE_PIXELS_MIN && width * height < AREA_PIXELS_MIN;
}

/** Collect the images of a page, tracking the current transformation matrix through its operators. */
function findPlacements(operators: number[], args: unknown[][], ops: PdfJs['OPS'], page: PdfPage): Placement[] {
  const placements: Placement[] = [];
  const matrixStack: Matrix[] = [];
  let matrix = page.getViewport({ scale: 1 }).transform as unknown as Matrix;
  for (const [index, operator] of operators.entries()) {
    const own = args[index] ?? [];
    switch (operator) {
      case ops.save:
        matrixStack.push(matrix);
        break;
      case ops.restore:
      case ops.paintFormXObjectEnd:
        matrix = matrixStack.pop() ?? matrix;
        break;
      case ops.transform:
        matrix = multiply(matrix, own as unknown as Matrix);
        break;
      case ops.paintFormXObjectBegin:
        matrixStack.push(matrix);
        if (own[0] !== null && own[0] !== undefined) matrix = multiply(matrix, own[0] as unknown as Matrix);
        break;
      case ops.paintImageXObject:
        placements.push({ image: own[0] as string, toPage: matrix });
        break;
      case ops.paintInlineImageXObject:
        placements.push({ image: own[0] as RawImage, toPage: matrix });
        break;
      case ops.paintImageMaskXObject: {
        const mask = own[0] as { data: string | Uint8Array; width: number; height: number };
        const image = typeof mask.data === 'string' ? mask.data : (mask as RawImage);
        placements.push({ image, toPage: matrix });
        break;
      }
    }
    if (placements.length >= PLACEMENTS_MAX) break;
  }
  return placements;
}

function multiply([a, b, c, d, e, f]: Matrix, [g, h, i, j, k, l]: Matrix): Matrix {
  return [a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * l + e, b * k + d * l + f];
}

/** Wait for an image's decoded object; null if pdf.js couldn't decode it. Objects shared by pages start with `g_`. */
function decoded(page: PdfPage, id: string): Promise<RawImage | null> {
  const objects = id.startsWith('g_') ? page.commonObjs : page.objs;
  return new Promise((resolve) => objects.get(id, resolve as (image: unknown) => void));
}

/** Return the EXIF orientation from the directions of an image's rows and columns on the page, y downwards. */
function orientationOf([a, b, c, d]: Matrix): number {
  if (Math.abs(a) + Math.abs(d) >= Math.abs(b) + Math.abs(c)) {
    const isMirrored = a < 0;
    // An image's last row is at 0 of its unit square, so its rows run against d.
    return d <= 0 ? (isMirrored ? 2 : 1) : isMirrored ? 3 : 4;
  }
  const startsAtTop = b > 0;
  return c <= 0 ? (startsAtTop ? 5 : 8) : startsAtTop ? 6 : 7;
}

interface Part {
  readonly image: GreyImage;
  /** Position on the page, in points, y downwards. */
  readonly left: number;
  readonly top: number;
  readonly bottom: number;
}

function boxOf([a, b, c, d, e, f]: Matrix): Omit<Part, 'image'> {
  const ys = [f, f + b, f + d, f + b + d];
  return { left: Math.min(e, e + a, e + c, e + a + c), top: Math.min(...ys), bottom: Math.max(...ys) };
}

/** Sort images from top to bottom, and join those that continue each other without a gap. */
function joinStrips(parts: readonly Part[]): GreyImage[] {
  const runs: Part[][] = [];
  for (const part of parts.toSorted((one, other) => one.top - other.top || one.left - other.left)) {
    const run = runs.find((candidate) => isContinuation(candidate.at(-1) as Part, part));
    if (run === undefined) runs.push([part]);
    else run.push(part);
  }
  return runs.map((run) => stack(run.map(({ image }) => image)));
}

function isContinuation(above: Part, part: Part): boolean {
  return (
    above.image.width === part.image.width &&
    Math.abs(above.left - part.left) <= SEAM_POINTS &&
    Math.abs(above.bottom - part.top) <= SEAM_POINTS
  );
}
