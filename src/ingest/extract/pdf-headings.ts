import type { BlockDraft } from './blocks.ts';
import { namesAuthor, resemblesNames } from './pdf-bylines.ts';
import type { PdfParagraph } from './pdf-paragraphs.ts';

const HEADING_CHARS_MAX = 200;
const HEADING_LINES_MAX = 4;
const HEADING_SIZE_RATIO = 1.15;
const LEVEL_MAX = 6;
/** Minimum length of the first paragraph of the document's text, below title and authors. */
const TEXT_CHARS_MIN = 150;

/**
 * Converter of paragraphs to blocks, a window of pages at a time. The body size is the median font size by character of
 * all text so far. Short paragraphs at least 15 % larger are headings, with the rank of their size as the level. Author
 * names below the document's title are never headings, whatever their size.
 */
export class PdfHeadings {
  /** Number of characters by font size. */
  readonly #chars = new Map<number, number>();
  readonly #headingSizes = new Set<number>();

  /** Return the median font size of the text so far plus these paragraphs or lines; 0 without any. */
  bodySizeWith(texts: ReadonlyArray<{ readonly fontSize: number; readonly text: string }>): number {
    const chars = new Map(this.#chars);
    count(chars, texts);
    return medianSize(chars);
  }

  toBlocks(paragraphs: readonly PdfParagraph[]): BlockDraft[] {
    count(this.#chars, paragraphs);
    const body = medianSize(this.#chars);
    const candidates = paragraphs.filter((paragraph) => isHeading(paragraph, body));
    const bylines = findBylines(paragraphs, candidates);
    const headings = new Set(candidates.filter((paragraph) => !bylines.has(paragraph)));
    for (const { fontSize } of headings) this.#headingSizes.add(fontSize);
    const sizes = [...this.#headingSizes].sort((a, b) => b - a);
    return paragraphs.map((paragraph) => {
      const { text, page, fontSize } = paragraph;
      if (headings.has(paragraph)) {
        return { kind: 'heading', text, page, level: Math.min(sizes.indexOf(fontSize) + 1, LEVEL_MAX) };
      }
      return { kind: paragraph.isListItem ? 'list_item' : 'paragraph', text, page };
    });
  }
}

/**
 * Find large lines on the first page, between title and text, that name authors. A line that only resembles names
 * counts if no section heading has its size.
 */
function findBylines(
  paragraphs: readonly PdfParagraph[],
  candidates: readonly PdfParagraph[],
): ReadonlySet<PdfParagraph> {
  const [title] = candidates;
  if (title === undefined || title.page !== 1) return new Set();
  const start = paragraphs.findIndex(({ text }) => text.length >= TEXT_CHARS_MIN);
  const front = new Set(start < 0 ? [] : paragraphs.slice(0, start));
  const below = candidates.filter((each) => front.has(each) && each.page === 1 && each.fontSize < title.fontSize);
  const unsure = new Set(below.filter(({ text }) => resemblesNames(text)));
  const sectionSizes = new Set(candidates.filter((each) => !unsure.has(each)).map(({ fontSize }) => fontSize));
  const isByline = (each: PdfParagraph) =>
    namesAuthor(each.text) || (unsure.has(each) && sectionSizes.size > 1 && !sectionSizes.has(each.fontSize));
  return new Set(below.filter(isByline));
}

function count(
  chars: Map<number, number>,
  texts: ReadonlyArray<{ readonly fontSize: number; readonly text: string }>,
): void {
  for (const { fontSize, text } of texts) chars.set(fontSize, (chars.get(fontSize) ?? 0) + text.length);
}

function medianSize(chars: ReadonlyMap<number, number>): number {
  const bySize = [...chars].sort(([a], [b]) => a - b);
  const half = bySize.reduce((sum, [, length]) => sum + length, 0) / 2;
  let seen = 0;
  for (const [size, length] of bySize) {
    seen += length;
    if (seen >= half) return size;
  }
  return 0;
}

function isHeading({ fontSize, lineCount, text }: PdfParagraph, body: number): boolean {
  return (
    fontSize >= body * HEADING_SIZE_RATIO &&
    lineCount <= HEADING_LINES_MAX &&
    text.length <= HEADING_CHARS_MAX &&
    /\p{L}/u.test(text)
  );
}
