import { FORMAT_NAMES, HancomNumbering, type ParagraphRole } from './hancom-numbering.ts';
import { readRecords, TAG } from './hwp-records.ts';

/** Number of levels that each numbering defines first; three more may follow. */
const LEVELS = 7;
const HEAD_BYTES = 12;
/** Kind of embedded files; other kinds are links. */
const EMBEDDED = 1;
/** Offset of the numbering in a paragraph shape. */
const NUMBERING_AT = 30;

/** Identifier of a section's definition, reversed as in the file, and the offset of its outline. */
const SECTION_DEFINITION = 'dces';
const OUTLINE_AT = 18;

export interface HwpHead {
  /** Roles of paragraph shapes by index. */
  readonly roles: ReadonlyMap<number, ParagraphRole>;
  readonly numbering: HancomNumbering;
  /** Embedded files. */
  readonly embedded: readonly EmbeddedFile[];
}

export interface EmbeddedFile {
  readonly path: string;
  /** True if compressed; null if it is compressed like the document. */
  readonly isCompressed: boolean | null;
}

/** Read paragraph shapes and numberings from the stream `DocInfo`. */
export function readHead(docInfo: Buffer | null): HwpHead {
  const roles = new Map<number, ParagraphRole>();
  const numbering = new HancomNumbering();
  const embedded: EmbeddedFile[] = [];
  let shapes = 0;
  let numberings = 0;
  for (const { tag, data } of docInfo === null ? [] : readRecords(docInfo)) {
    if (tag === TAG.numbering) defineLevels(data, String(++numberings), numbering);
    if (tag === TAG.binaryData) embedded.push(...embeddedFile(data));
    if (tag !== TAG.paragraphShape) continue;
    const role = roleOf(data);
    if (role !== null) roles.set(shapes, role);
    shapes++;
  }
  return { roles, numbering, embedded };
}

/** Parse the record of an embedded file: attributes, number, length of its extension, extension. */
function embeddedFile(data: Buffer): EmbeddedFile[] {
  if (data.length < 6) return [];
  const attributes = data.readUInt16LE(0);
  if ((attributes & 15) !== EMBEDDED) return [];
  const extension = data.toString('utf16le', 6, Math.min(6 + data.readUInt16LE(4) * 2, data.length));
  const number = data.readUInt16LE(2).toString(16).toUpperCase().padStart(4, '0');
  const compression = (attributes >>> 4) & 3;
  return [{ path: `BinData/BIN${number}.${extension}`, isCompressed: compression === 0 ? null : compression === 1 }];
}

/** Return the outline numbering in a section's definition, or null. */
export function outlineOf(section: Buffer): string | null {
  for (const { tag, data } of readRecords(section)) {
    const isDefinition = tag === TAG.controlHeader && data.toString('latin1', 0, 4) === SECTION_DEFINITION;
    if (isDefinition && data.length >= OUTLINE_AT + 2) return String(data.readUInt16LE(OUTLINE_AT));
  }
  return null;
}

function roleOf(data: Buffer): ParagraphRole | null {
  const attributes = data.length >= 4 ? data.readUInt32LE(0) : 0;
  // Bits 23 and 24: none, outline, number, bullet. Bits 25 to 27: level, from 0.
  const level = ((attributes >>> 25) & 7) + 1;
  switch ((attributes >>> 23) & 3) {
    case 1:
      return { kind: 'outline', level };
    case 2: {
      const id = data.length >= NUMBERING_AT + 2 ? data.readUInt16LE(NUMBERING_AT) : 0;
      return { kind: 'number', level, numbering: String(id) };
    }
    case 3:
      return { kind: 'bullet', level };
    default:
      return null;
  }
}

/**
 * Read the levels of a numbering: for each, its attributes and pattern; then the first number of the first level, and
 * in newer files that of each level.
 */
function defineLevels(data: Buffer, id: string, numbering: HancomNumbering): void {
  const levels: Array<{ format: string; text: string }> = [];
  let at = 0;
  while (levels.length < LEVELS && at + HEAD_BYTES + 2 <= data.length) {
    const format = FORMAT_NAMES[(data.readUInt32LE(at) >>> 5) & 31] ?? 'Digit';
    const chars = data.readUInt16LE(at + HEAD_BYTES);
    at += HEAD_BYTES + 2;
    levels.push({ format, text: data.toString('utf16le', at, Math.min(at + chars * 2, data.length)).slice(0, 100) });
    at += chars * 2;
  }
  const first = at + 2 <= data.length ? data.readUInt16LE(at) : 1;
  for (const [index, level] of levels.entries()) {
    const own = at + 2 + index * 4;
    const start = own + 4 <= data.length ? data.readUInt32LE(own) : index === 0 ? Math.max(first, 1) : 1;
    numbering.define(id, index + 1, { ...level, start: start < 100_000 ? start : 1 });
  }
}
