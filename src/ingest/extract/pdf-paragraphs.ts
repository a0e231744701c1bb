import type { PdfLine } from './pdf-lines.ts';

export interface PdfParagraph {
  text: string;
  readonly page: number;
  readonly fontSize: number;
  readonly lineCount: number;
  readonly isListItem: boolean;
}

const BULLET = /^(?:[•‣◦▪▫●○■□▶►∙·⁃※]|[-–*](?=\s)|(?:\d{1,2}|[a-z]|[가나다라마바사아자차카타파하])[.)](?=\s)|[①-⑳])\s*/;
const SENTENCE_END = /[.!?…:;。！？]["'”’)\]]?$/;

/**
 * Join lines to paragraphs. A paragraph ends where the vertical gap is wider than usual on the page, the font size
 * changes, the text moves to another column, a bullet follows, or an indented line follows a line that ended early.
 */
export function toParagraphs(lines: readonly PdfLine[], page: number): PdfParagraph[] {
  const pitch = typicalPitch(lines);
  const paragraphs: PdfParagraph[] = [];
  let current: PdfLine[] = [];
  const close = () => {
    const first = current[0];
    if (first === undefined) return;
    paragraphs.push({
      text: joinLines(current.map((line) => line.text)),
      page,
      fontSize: first.fontSize,
      lineCount: current.length,
      isListItem: BULLET.test(first.text),
    });
    current = [];
  };
  for (const line of lines) {
    if (startsParagraph(current, line, pitch)) close();
    current.push(line);
  }
  close();
  return paragraphs;
}

function startsParagraph(current: readonly PdfLine[], line: PdfLine, pitch: number): boolean {
  const previous = current.at(-1);
  const first = current[0];
  if (previous === undefined || first === undefined) return true;
  const size = Math.max(previous.fontSize, line.fontSize);
  // Rest of a split word, on the next line or in the next column.
  if (continuesWord(previous.text, line.text) && Math.abs(previous.fontSize - line.fontSize) <= size * 0.1)
    return false;
  if (Math.abs(previous.fontSize - line.fontSize) > size * 0.1) return true;
  const gap = previous.y - line.y;
  if (gap < -size || gap > Math.max(pitch * size * 1.35, size * 1.3)) return true;
  if (line.left > previous.right || line.right < first.left) return true;
  if (BULLET.test(line.text)) return true;
  const indent = line.left - Math.min(previous.left, current.length > 1 ? (current[1] as PdfLine).left : previous.left);
  if (BULLET.test(first.text)) return indent < -size * 0.5;
  const width = Math.max(...current.slice(-4).map((each) => each.right)) - previous.left;
  const endedEarly =
    SENTENCE_END.test(previous.text) && (current.length === 1 || previous.right < previous.left + width * 0.85);
  return indent > size * 0.8 && indent < size * 6 && (endedEarly || current.length > 1);
}

/** Word after a hyphen that stands for the rest of another word: `pre- and post-war`. */
const CONJUNCTION = /^(?:and|or|und|oder|bis|et|ou)(?=\s)/;

/** Return true if a text ends with a hyphen within a word, and the next one starts with the rest of the word. */
export function continuesWord(text: string, next: string): boolean {
  return /\p{Ll}[-\u2010\u00ad]$/u.test(text) && /^\p{Ll}/u.test(next) && !CONJUNCTION.test(next);
}

/** Return the median baseline distance, in multiples of the font size. */
function typicalPitch(lines: readonly PdfLine[]): number {
  const pitches: number[] = [];
  for (let i = 1; i < lines.length; i++) {
    const above = lines[i - 1] as PdfLine;
    const line = lines[i] as PdfLine;
    const pitch = (above.y - line.y) / line.fontSize;
    if (pitch > 0.8 && pitch < 3) pitches.push(pitch);
  }
  pitches.sort((a, b) => a - b);
  return pitches[pitches.length >> 1] ?? 1.2;
}

/**
 * Join several lines to one text. Always remove a soft hyphen at a line end. Remove a hard hyphen between several
 * letters and a lowercase one, but keep it after a digit or a single letter (`24-hour`, `x-ray`) and before `and`. Join
 * Chinese and Japanese lines without a blank, all others (including Korean) with one.
 */
export function joinLines(lines: readonly string[]): string {
  let text = lines[0] ?? '';
  for (const line of lines.slice(1)) {
    if (text.endsWith('\u00ad')) text = text.slice(0, -1) + line;
    else if (/\p{L}[-‐]$/u.test(text) && CONJUNCTION.test(line)) text += ` ${line}`;
    else if (/\p{L}{2}[-‐]$/u.test(text) && /^\p{Ll}/u.test(line)) text = text.slice(0, -1) + line;
    else if (/(?<!\s)[-‐]$/u.test(text) && /^[\p{L}\d]/u.test(line)) text += line;
    else if (
      /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}、。，]$/u.test(text) &&
      /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}「（]/u.test(line)
    )
      text += line;
    else text += ` ${line}`;
  }
  return text.replaceAll('\u00ad', '');
}
