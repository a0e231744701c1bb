/** Characters that control a terminal or reorder displayed text (bidirectional marks). */
const UNPRINTABLE = String.raw`\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}`;
const RUNS = new RegExp(`[${UNPRINTABLE}]+`, 'gu');
const ALL_BUT_LINES = new RegExp(`(?![\\n\\r\\t])[${UNPRINTABLE}]`, 'gu');

const ANY = new RegExp(`[${UNPRINTABLE}]`, 'u');

/** Message for a name that `isPlainName` refuses. */
export const PLAIN_NAME_RULE = 'must not contain control characters or marks that change the direction of text';

/**
 * Return true for well-formed Unicode without control characters or bidirectional marks, which could make one name look
 * like another.
 */
export function isPlainName(text: string): boolean {
  return text.isWellFormed() && !ANY.test(text);
}

/** Put untrusted text on one line and remove everything that controls a terminal. */
export function oneLine(text: string): string {
  return text.replace(RUNS, ' ');
}

/**
 * Convert untrusted text to one line of well-formed Unicode that PostgreSQL can store, and truncate it.
 * @param charsMax maximum UTF-16 code units of the result
 */
export function boundedLine(text: string, charsMax: number): string {
  const line = oneLine(text.toWellFormed()).trim();
  if (line.length <= charsMax) return line;
  const cut = line.slice(0, charsMax - 1);
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`;
}

/** Remove everything that controls a terminal from untrusted text, but keep its line breaks. */
export function printable(text: string): string {
  return text.replace(ALL_BUT_LINES, '');
}

/** Create an NFC file name from untrusted text, without folders and deceptive characters. */
export function fileNameOf(text: string): string {
  return text.normalize('NFC').replace(RUNS, '_').replace(/[/\\]/g, '_');
}
