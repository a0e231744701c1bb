/** Characters that control a terminal or change the order in which it shows a text (bidirectional marks). */
const UNPRINTABLE = String.raw`\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}`;
const RUNS = new RegExp(`[${UNPRINTABLE}]+`, 'gu');
const ALL_BUT_LINES = new RegExp(`(?![\\n\\r\\t])[${UNPRINTABLE}]`, 'gu');

const ANY = new RegExp(`[${UNPRINTABLE}]`, 'u');

/** Message for a name that `isPlainName` refuses. */
export const PLAIN_NAME_RULE = 'must not contain control characters or marks that change the direction of text';

/**
 * Return true for a text that looks like what it holds: well-formed Unicode without control characters and without
 * bidirectional marks, which can make one name look like another.
 */
export function isPlainName(text: string): boolean {
  return text.isWellFormed() && !ANY.test(text);
}

/** Put untrusted text on one line and remove everything that controls a terminal. */
export function oneLine(text: string): string {
  return text.replace(RUNS, ' ');
}

/**
 * Put untrusted text on one line of well-formed Unicode that PostgreSQL can always store, and cut it.
 * @param charsMax maximum UTF-16 code units of the result
 */
export function boundedLine(text: string, charsMax: number): string {
  const line = oneLine(text.toWellFormed()).trim();
  if (line.length <= charsMax) return line;
  const cut = line.slice(0, charsMax - 1);
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`;
}

/** Remove everything that controls a terminal from untrusted text, and keep its lines. */
export function printable(text: string): string {
  return text.replace(ALL_BUT_LINES, '');
}

/** Make a file name in NFC from untrusted text, without folders and without characters that disguise the name. */
export function fileNameOf(text: string): string {
  return text.normalize('NFC').replace(RUNS, '_').replace(/[/\\]/g, '_');
}
