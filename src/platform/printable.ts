/** What a terminal acts on, or lets it show a text in another order than it has: bidirectional marks, too. */
const UNPRINTABLE = String.raw`\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069`;
const RUNS = new RegExp(`[${UNPRINTABLE}]+`, 'gu');
const ALL_BUT_LINES = new RegExp(`(?![\\n\\r\\t])[${UNPRINTABLE}]`, 'gu');

/** Text from outside on one line, with nothing in it that a terminal would act on. */
export function oneLine(text: string): string {
  return text.replace(RUNS, ' ');
}

/** The same in its lines. */
export function printable(text: string): string {
  return text.replace(ALL_BUT_LINES, '');
}

/** Text from outside as the name of a file: no folders, nothing that shows as another name than it is. */
export function fileNameOf(text: string): string {
  return text.replace(RUNS, '_').replace(/[/\\]/g, '_');
}
