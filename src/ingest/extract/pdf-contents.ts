import type { PdfLine } from './pdf-lines.ts';

const LEADERS = /(?:[.…·‥_]\s*){4,}[ivxlc\d]{1,5}$/i;
/** Line that ends in a page number, or a lone page number, which stands in its own column. */
const ENTRY = /(?:\s|^)(?:\d{1,4}|[ivxlc]{1,6})$/;
const TITLE =
  /^(?:table of )?contents$|^inhalt(?:sverzeichnis)?$|^sommaire$|^table des mati[eè]res$|^[ií]ndice$|^목\s*차$|^차\s*례$|^目\s*[次录錄]$/i;
const ENTRIES_MIN = 3;
/** Minimum share of entries among the lines below a title. Long entries take two lines. */
const ENTRIES_SHARE_MIN = 0.4;
const FOLLOWING_SHARE_MIN = 0.6;

/**
 * Find the lines of a table of contents on a page: lines with dot leaders and a page number, and lines below a title
 * such as `Contents` if many end in a page number.
 * @param isContinued true if the previous page ended in a table of contents
 */
export function contentsLines(lines: readonly PdfLine[], isContinued: boolean): Set<PdfLine> {
  const found = new Set<PdfLine>();
  const leaders = lines.filter(({ text }) => LEADERS.test(text));
  if (leaders.length >= ENTRIES_MIN || (isContinued && leaders.length > 0)) for (const line of leaders) found.add(line);
  const title = lines.findIndex(({ text }) => TITLE.test(text.trim()));
  const from = title >= 0 ? title : isContinued ? 0 : -1;
  if (from < 0) return found;
  const below = lines.slice(title + 1);
  const entries = below.filter(({ text }) => ENTRY.test(text));
  const share = title >= 0 ? ENTRIES_SHARE_MIN : FOLLOWING_SHARE_MIN;
  if (entries.length < ENTRIES_MIN || entries.length < below.length * share) return found;
  const last = lines.indexOf(entries.at(-1) as PdfLine);
  for (const line of lines.slice(from, last + 1)) found.add(line);
  return found;
}
