import type { Readable } from 'node:stream';

const NEWLINE = 0x0a;
/** Size of a block of short lines, which takes about 2 ms to parse. */
export const BLOCK_BYTES = 32 * 1024;
/** Length at which an unfinished line is dropped. The body of a single request is shorter. */
export const LINE_BYTES_MAX = 8 * 1024 * 1024;

/** Complete lines of an input. */
export interface LineBlock {
  /** Position of the first byte in the input. */
  readonly offset: number;
  /** Lines with their line breaks, owned by the receiver; null for a single line that is too long. */
  readonly bytes: Buffer | null;
}

/** Split an input into blocks of complete lines. Hold at most one block, or the start of one line, in memory. */
export async function* readBlocks(input: Readable): AsyncGenerator<LineBlock> {
  let held: Buffer[] = [];
  let bytes = 0;
  /** Number of held bytes up to the end of the last complete line. */
  let linesBytes = 0;
  let offset = 0;
  let isSkipping = false;
  for await (const part of inPieces(input as AsyncIterable<Buffer>)) {
    let rest = part;
    if (isSkipping) {
      const end = rest.indexOf(NEWLINE) + 1;
      bytes += end === 0 ? rest.length : end;
      if (end === 0) continue;
      yield { offset, bytes: null };
      offset += bytes;
      bytes = 0;
      isSkipping = false;
      rest = rest.subarray(end);
    }
    const end = rest.lastIndexOf(NEWLINE) + 1;
    if (end > 0) linesBytes = bytes + end;
    held.push(rest);
    bytes += rest.length;
    if (linesBytes > 0 && bytes >= BLOCK_BYTES) {
      const all = Buffer.concat(held);
      const lines = Buffer.from(all.subarray(0, linesBytes));
      const at = offset;
      held = [all.subarray(linesBytes)];
      offset += linesBytes;
      bytes -= linesBytes;
      linesBytes = 0;
      yield { offset: at, bytes: lines };
    }
    if (bytes <= LINE_BYTES_MAX) continue;
    // All these bytes belong to one line.
    held = [];
    isSkipping = true;
  }
  if (bytes > 0) yield { offset, bytes: isSkipping ? null : Buffer.concat(held) };
}

/** Cut the parts of a stream, whose size depends on the store, into pieces of at most a block. */
async function* inPieces(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const part of input) {
    for (let at = 0; at < part.length; at += BLOCK_BYTES) yield part.subarray(at, at + BLOCK_BYTES);
  }
}
