import type { BlockDraft } from './blocks.ts';
import type { PdfParagraph } from './pdf-paragraphs.ts';

const HEADING_CHARS_MAX = 200;
const HEADING_LINES_MAX = 4;
const HEADING_SIZE_RATIO = 1.15;
const LEVEL_MAX = 6;

/**
 * Converts paragraphs to blocks, a window of pages at a time. The body size is the median font size by character of all
 * text so far; short paragraphs at least 15 % larger are headings, and the rank of their size is their level.
 */
export class PdfHeadings {
  /** Characters by font size. */
  readonly #chars = new Map<number, number>();
  readonly #headingSizes = new Set<number>();

  toBlocks(paragraphs: readonly PdfParagraph[]): BlockDraft[] {
    for (const { fontSize, text } of paragraphs) {
      this.#chars.set(fontSize, (this.#chars.get(fontSize) ?? 0) + text.length);
    }
    const body = this.#medianSize();
    for (const paragraph of paragraphs) if (isHeading(paragraph, body)) this.#headingSizes.add(paragraph.fontSize);
    const sizes = [...this.#headingSizes].sort((a, b) => b - a);
    return paragraphs.map((paragraph) => {
      const { text, page, fontSize } = paragraph;
      if (isHeading(paragraph, body)) {
        return { kind: 'heading', text, page, level: Math.min(sizes.indexOf(fontSize) + 1, LEVEL_MAX) };
      }
      return { kind: paragraph.isListItem ? 'list_item' : 'paragraph', text, page };
    });
  }

  #medianSize(): number {
    const bySize = [...this.#chars].sort(([a], [b]) => a - b);
    const half = bySize.reduce((sum, [, chars]) => sum + chars, 0) / 2;
    let seen = 0;
    for (const [size, chars] of bySize) {
      seen += chars;
      if (seen >= half) return size;
    }
    return 0;
  }
}

function isHeading({ fontSize, lineCount, text }: PdfParagraph, body: number): boolean {
  return (
    fontSize >= body * HEADING_SIZE_RATIO &&
    lineCount <= HEADING_LINES_MAX &&
    text.length <= HEADING_CHARS_MAX &&
    /\p{L}/u.test(text)
  );
}
