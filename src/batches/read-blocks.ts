import type { Readable } from 'node:stream';

const NEWLINE = 0x0a;
const BLOCK_BYTES = 512 * 1024;
/** Longest line of an input. The body of a single request is smaller. */
export const LINE_BYTES_MAX = 8 * 1024 * 1024;

/** Whole lines of an input. */
export interface LineBlock {
  /** Offset of the first byte in the input. */
  readonly offset: number;
  /** Lines with their ends; null for a single line that is too long. */
  readonly bytes: Buffer | null;
}

/** Split an input into blocks of whole lines. It holds one block, or the begin of one line, in memory. */
export async function* readBlocks(input: Readable): AsyncGenerator<LineBlock> {
  let parts: Buffer[] = [];
  let bytes = 0;
  let offset = 0;
  let isSkipping = false;
  for await (const part of input as AsyncIterable<Buffer>) {
    let rest = part;
    if (isSkipping) {
      const end = rest.indexOf(NEWLINE);
      bytes += end === -1 ? rest.length : end + 1;
      if (end === -1) continue;
      yield { offset, bytes: null };
      offset += bytes;
      bytes = 0;
      isSkipping = false;
      rest = rest.subarray(end + 1);
    }
    const end = rest.lastIndexOf(NEWLINE) + 1;
    if (end > 0 && bytes + end >= BLOCK_BYTES) {
      const block = Buffer.concat([...parts, rest.subarray(0, end)]);
      yield { offset, bytes: block };
      offset += block.length;
      parts = [];
      bytes = 0;
      rest = rest.subarray(end);
    }
    if (rest.length > 0) parts.push(rest);
    bytes += rest.length;
    if (bytes <= LINE_BYTES_MAX) continue;
    const held = Buffer.concat(parts);
    parts = [];
    const lines = held.subarray(0, held.lastIndexOf(NEWLINE) + 1);
    if (lines.length > 0) yield { offset, bytes: lines };
    offset += lines.length;
    const begun = held.subarray(lines.length);
    bytes = begun.length;
    isSkipping = bytes > LINE_BYTES_MAX;
    if (!isSkipping && bytes > 0) parts.push(begun);
  }
  if (bytes > 0) yield { offset, bytes: isSkipping ? null : Buffer.concat(parts) };
}
