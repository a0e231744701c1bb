/** Record in a stream of a Hancom document (HWP 5.0 file format, 4.1). */
export interface HwpRecord {
  readonly tag: number;
  /** Depth in the tree of records, which the stream contains in preorder. */
  readonly level: number;
  readonly data: Buffer;
}

const FIRST_TAG = 0x10;

export const TAG = {
  binaryData: FIRST_TAG + 2,
  distributeDocData: FIRST_TAG + 12,
  numbering: FIRST_TAG + 7,
  paragraphShape: FIRST_TAG + 9,
  paragraphHeader: FIRST_TAG + 50,
  paragraphText: FIRST_TAG + 51,
  controlHeader: FIRST_TAG + 55,
  listHeader: FIRST_TAG + 56,
  table: FIRST_TAG + 61,
  equation: FIRST_TAG + 72,
} as const;

/** Marker for a size that doesn't fit into the header and follows it. */
const LONG = 0xfff;

/** Yield records up to the first truncated one. */
export function* readRecords(stream: Buffer): Generator<HwpRecord> {
  for (let at = 0; at + 4 <= stream.length; ) {
    const header = stream.readUInt32LE(at);
    at += 4;
    let size = header >>> 20;
    if (size === LONG) {
      if (at + 4 > stream.length) return;
      size = stream.readUInt32LE(at);
      at += 4;
    }
    if (at + size > stream.length) return;
    yield { tag: header & 0x3ff, level: (header >>> 10) & 0x3ff, data: stream.subarray(at, at + size) };
    at += size;
  }
}

/** Control characters of a single unit. All others below 32 take eight units, including their parameters. */
const SINGLE: ReadonlySet<number> = new Set([0, 10, 13, 24, 25, 26, 27, 28, 29, 30, 31]);
const UNITS_OF_CONTROL = 8;

/** Return a paragraph's text without the control characters of embedded objects (HWP 5.0 file format, 4.3.2). */
export function paragraphText(data: Buffer): string {
  let text = '';
  const units = data.length >> 1;
  for (let at = 0; at < units; ) {
    let end = at;
    while (end < units && data.readUInt16LE(end * 2) >= 32) end++;
    if (end > at) text += data.toString('utf16le', at * 2, end * 2);
    if (end >= units) break;
    const code = data.readUInt16LE(end * 2);
    if (code === 10) text += '\n';
    else if (code === 9 || code === 30 || code === 31) text += ' ';
    else if (code === 24) text += '-';
    at = end + (SINGLE.has(code) ? 1 : UNITS_OF_CONTROL);
  }
  return text;
}
