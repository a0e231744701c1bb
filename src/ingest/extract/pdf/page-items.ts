import type { PdfTextItem } from '../pdf-lines.ts';

/** Maximum offset, in multiples of the font size, at which text is drawn again to look bold. */
const OVERPRINT = 0.15;
/** Share of undecodable characters from which a page counts as without text. */
const UNMAPPED_SHARE = 0.3;
const UNMAPPED_CHARS_MIN = 10;
const UNMAPPED_ITEM_CHARS_MIN = 2;
/** Share of one letter, and minimum length, of text whose font maps all glyphs to the same letter. */
const SAME_LETTER_SHARE = 0.95;
const SAME_LETTER_CHARS_MIN = 100;
// biome-ignore lint/suspicious/noControlCharactersInRegex: glyph numbers appear as them
const UNMAPPED = /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\ufffd\p{Co}]/gu;

/** Box of a page: [left, bottom, right, top]. */
export type PageBox = readonly [left: number, bottom: number, right: number, top: number];

/**
 * Rotate a page whose text mostly runs at 90, 180 or 270 degrees, so that its lines are horizontal. Other text keeps
 * its relative angle.
 */
export function turnUpright(items: readonly PdfTextItem[], box: PageBox): { items: PdfTextItem[]; box: PageBox } {
  const chars = new Map<number, number>();
  for (const { angle, str } of items) chars.set(quarter(angle), (chars.get(quarter(angle)) ?? 0) + str.length);
  const [turn = 0] = [...chars].toSorted((one, other) => other[1] - one[1])[0] ?? [];
  if (turn === 0) return { items: [...items], box };
  const [left, bottom, right, top] = box;
  const [x1, y1] = turned(left, bottom, turn);
  const [x2, y2] = turned(right, top, turn);
  const upright = items.map((item) => {
    const [x, y] = turned(item.x, item.y, turn);
    return { ...item, x, y, angle: normal(item.angle - turn) };
  });
  return { items: upright, box: [Math.min(x1, x2), Math.min(y1, y2), Math.max(x1, x2), Math.max(y1, y2)] };
}

/** Return an angle as a multiple of 90 degrees; 0 for slanted text. */
function quarter(angle: number): number {
  return angle % 90 === 0 ? (angle + 360) % 360 : 0;
}

function turned(x: number, y: number, turn: number): [number, number] {
  if (turn === 90) return [y, -x];
  return turn === 180 ? [-x, -y] : [-y, x];
}

function normal(angle: number): number {
  const positive = ((angle % 360) + 360) % 360;
  return positive > 180 ? positive - 360 : positive;
}

/**
 * Remove copies of text that is drawn several times to look bold: entire items at almost the same position, and letters
 * that are each drawn twice, so that an item starts with the last letters of the previous one.
 */
export function removeOverprints(items: readonly PdfTextItem[]): PdfTextItem[] {
  const kept: PdfTextItem[] = [];
  const placesByText = new Map<string, PdfTextItem[]>();
  let previous: PdfTextItem | null = null;
  for (const item of items) {
    if (item.str.trim() === '') {
      kept.push(item);
      continue;
    }
    const places = placesByText.get(item.str) ?? [];
    placesByText.set(item.str, places);
    if (places.some((place) => isSamePlace(place, item))) {
      // Keep the line end of a dropped last item.
      if (item.endsLine) kept.push({ ...item, str: '', width: 0 });
      continue;
    }
    places.push(item);
    const own = previous === null ? item : withoutRepeated(previous, item);
    previous = item;
    kept.push(own);
  }
  return kept;
}

function isSamePlace(one: PdfTextItem, other: PdfTextItem): boolean {
  const near = OVERPRINT * Math.max(one.fontSize, other.fontSize);
  return Math.abs(one.x - other.x) <= near && Math.abs(one.y - other.y) <= near && one.angle === other.angle;
}

/** Remove characters at the start of an item that overlap equal ones at the end of the previous item. */
function withoutRepeated(before: PdfTextItem, item: PdfTextItem): PdfTextItem {
  const overlap = before.x + before.width - item.x;
  const isBehind = item.x < before.x - OVERPRINT * item.fontSize;
  if (overlap < OVERPRINT * item.fontSize || isBehind || item.angle !== 0 || before.angle !== 0) return item;
  if (Math.abs(before.y - item.y) > OVERPRINT * item.fontSize) return item;
  const characters = [...item.str];
  for (let count = Math.min(characters.length, [...before.str].length); count > 0; count--) {
    const start = characters.slice(0, count).join('');
    const width = (item.width * count) / characters.length;
    if (!before.str.endsWith(start) || Math.abs(width - overlap) > item.fontSize * 0.5 + width * 0.15) continue;
    return { ...item, str: characters.slice(count).join(''), x: item.x + width, width: item.width - width };
  }
  return item;
}

/** Items of a page, except those whose font doesn't tell which characters its glyphs represent. */
export interface MappedItems {
  readonly items: readonly PdfTextItem[];
  /** True if enough of the page's text is missing to be reported. */
  readonly isIncomplete: boolean;
  /** True if most of the text is undecodable, in which case nothing of the page is kept. */
  readonly isUnmapped: boolean;
}

/** Remove text with unknown characters. Keep a lone symbol, such as a bullet of a symbol font. */
export function removeUnmapped(items: readonly PdfTextItem[]): MappedItems {
  let all = 0;
  let unmapped = 0;
  const kept: PdfTextItem[] = [];
  for (const item of items) {
    const text = item.str.replace(/[ \t\n\r\u00a0]+/g, '');
    const own = text.match(UNMAPPED)?.length ?? 0;
    all += text.length;
    const isUnknown = own >= UNMAPPED_ITEM_CHARS_MIN && own * 2 >= text.length;
    if (isUnknown) unmapped += own;
    kept.push(isUnknown ? { ...item, str: '' } : item);
  }
  const isIncomplete = unmapped >= UNMAPPED_CHARS_MIN;
  const isUnmapped = (isIncomplete && unmapped >= all * UNMAPPED_SHARE) || hasOneLetter(items);
  return { items: isUnmapped ? [] : kept, isIncomplete: isIncomplete || isUnmapped, isUnmapped };
}

function hasOneLetter(items: readonly PdfTextItem[]): boolean {
  const text = items.map(({ str }) => str.replace(/\s+/g, '')).join('');
  if (text.length < SAME_LETTER_CHARS_MIN) return false;
  const counts = new Map<string, number>();
  for (const letter of text.match(/[\p{L}\p{N}]/gu) ?? []) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  return Math.max(0, ...counts.values()) >= text.length * SAME_LETTER_SHARE;
}
