import { viewOf } from './image-header.ts';

/** Page of a TIFF file, represented by a copy of the whole file whose first directory is this page's. */
export interface TiffPage {
  readonly format: 'tiff';
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Pixels, as the directory declares them. */
  readonly width: number;
  readonly height: number;
  /** Always 1, since the decoder applies the orientation tag. */
  readonly orientation: 1;
}

const HEADER_BYTES = 8;
const ENTRY_BYTES = 12;
const IMAGE_WIDTH = 256;
const IMAGE_LENGTH = 257;
const SHORT = 3;
const LONG = 4;

/** Return true if the first bytes are those of a TIFF file (TIFF 6.0, 2). BigTIFF is another format. */
export function isTiff(bytes: Uint8Array): boolean {
  const start = viewOf(bytes).toString('latin1', 0, 4);
  return start === 'II*\0' || start === 'MM\0*';
}

/**
 * Iterate over the pages of a TIFF file without decoding pixels. The chain of directories ends if it leaves the file or
 * returns to an earlier directory.
 *
 * @param pagesMax maximum number of pages
 */
export function* tiffPages(bytes: Uint8Array, pagesMax: number): Generator<TiffPage> {
  const file = viewOf(bytes);
  const isLittle = file[0] === 0x49;
  const u16 = (at: number) => (isLittle ? file.readUInt16LE(at) : file.readUInt16BE(at));
  const u32 = (at: number) => (isLittle ? file.readUInt32LE(at) : file.readUInt32BE(at));
  const seen = new Set<number>();
  let at = file.length < HEADER_BYTES ? 0 : u32(4);
  while (at >= HEADER_BYTES && at + 2 <= file.length && !seen.has(at) && seen.size < pagesMax) {
    seen.add(at);
    const end = at + 2 + u16(at) * ENTRY_BYTES;
    if (end + 4 > file.length) return;
    const size = { width: 0, height: 0 };
    for (let entry = at + 2; entry < end; entry += ENTRY_BYTES) {
      const [tag, type] = [u16(entry), u16(entry + 2)];
      const value = type === SHORT ? u16(entry + 8) : type === LONG ? u32(entry + 8) : 0;
      if (tag === IMAGE_WIDTH) size.width = value;
      if (tag === IMAGE_LENGTH) size.height = value;
    }
    yield { format: 'tiff', bytes: startingAt(file, at, isLittle), ...size, orientation: 1 };
    at = u32(end);
  }
}

/** Copy the file with a header that makes this directory the first, which single-image readers use. */
function startingAt(file: Buffer, directory: number, isLittle: boolean): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(file);
  const view = new DataView(copy.buffer);
  view.setUint32(4, directory, isLittle);
  return copy;
}
