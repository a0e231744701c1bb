import { parseXml, type XmlAttributes } from '../archive/xml.ts';
import type { Zip } from '../archive/zip.ts';
import { isCodeStyle } from '../code-style.ts';

/** Role of the paragraphs with a style. */
export interface ParagraphStyle {
  /** Level from 1. */
  readonly headingLevel: number | null;
  readonly isTitle: boolean;
  readonly isCode: boolean;
  /** True for lines in a table of contents. */
  readonly isIndex: boolean;
  /** List that paragraphs of the style belong to; null if none. */
  readonly numId: string | null;
  readonly listLevel: number | null;
}

interface RawStyle {
  name: string;
  basedOn: string | null;
  outlineLevel: number | null;
  numId: string | null;
  listLevel: number | null;
}

const CHAIN_MAX = 32;

/**
 * Read the styles of a WordprocessingML document by id (ISO/IEC 29500-1, 17.7). Names of built-in styles are never
 * translated.
 */
export async function readDocxStyles(zip: Zip, part: string | null): Promise<ReadonlyMap<string, ParagraphStyle>> {
  const raw = new Map<string, RawStyle>();
  if (part === null || !zip.has(part)) return new Map();
  let style: RawStyle | null = null;
  await parseXml(zip.stream(part), {
    open(name, attributes) {
      if (name === 'w:style') {
        style = { name: '', basedOn: null, outlineLevel: null, numId: null, listLevel: null };
        if (attributes['w:type'] === 'paragraph') raw.set(attributes['w:styleId'] ?? '', style);
      } else if (style !== null) {
        takeProperty(style, name, attributes);
      }
    },
  });
  return new Map([...raw.keys()].map((id) => [id, resolve(raw, id)]));
}

function takeProperty(style: RawStyle, name: string, attributes: XmlAttributes): void {
  const value = attributes['w:val'] ?? '';
  if (name === 'w:name') style.name = value;
  else if (name === 'w:basedOn') style.basedOn = value;
  else if (name === 'w:outlineLvl') style.outlineLevel = outlineLevelOf(value);
  else if (name === 'w:numId') style.numId = value;
  else if (name === 'w:ilvl') style.listLevel = Number(value);
}

/** Parse an outline level, 0..8. Return null for 9, which is body text. */
export function outlineLevelOf(value: string): number | null {
  const level = Number(value);
  return Number.isInteger(level) && level >= 0 && level <= 8 ? level : null;
}

/** Resolve a style, which inherits unset properties from the style that it is based on. */
function resolve(raw: ReadonlyMap<string, RawStyle>, id: string): ParagraphStyle {
  let headingLevel: number | null = null;
  let isTitle = false;
  let isCode = false;
  let isIndex = false;
  let numId: string | null = null;
  let listLevel: number | null = null;
  let at: string | null = id;
  for (let step = 0; at !== null && step < CHAIN_MAX; step++) {
    const style: RawStyle | undefined = raw.get(at);
    if (style === undefined) break;
    const named = /^heading ([1-9])$/i.exec(style.name)?.[1];
    headingLevel ??= named !== undefined ? Number(named) : style.outlineLevel === null ? null : style.outlineLevel + 1;
    isTitle ||= /^title$/i.test(style.name);
    isCode ||= isCodeStyle(style.name);
    isIndex ||= /^(toc \d|contents \d|table of figures)$/i.test(style.name);
    numId ??= style.numId;
    listLevel ??= style.listLevel;
    at = style.basedOn;
  }
  return { headingLevel, isTitle, isCode, isIndex, numId, listLevel };
}
