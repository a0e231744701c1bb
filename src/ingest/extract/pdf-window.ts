import type { BlockDraft } from './blocks.ts';
import { contentsLines } from './pdf-contents.ts';
import { PdfHeadings } from './pdf-headings.ts';
import type { PdfLine } from './pdf-lines.ts';
import { PdfMargins, type PdfPageLines } from './pdf-margins.ts';
import { continuesWord, joinLines, type PdfParagraph, toParagraphs } from './pdf-paragraphs.ts';

/**
 * Converter of a PDF's lines to blocks, a window of pages at a time. It keeps each running title once, and marks
 * running titles and tables of contents as boilerplate.
 */
export class PdfBlocks {
  readonly #headings = new PdfHeadings();
  readonly #margins = new PdfMargins();
  /** Last page that ended in a table of contents. */
  #contentsPage = 0;

  toBlocks(window: readonly PdfPageLines[]): BlockDraft[] {
    const bodySize = this.#headings.bodySizeWith(window.flatMap(({ lines }) => lines));
    const { pages, runningTitles } = this.#margins.divide(window, bodySize);
    const parts = pages.flatMap((page) => this.#partsOf(page));
    const paragraphs = parts.flatMap((part) => ('paragraphs' in part ? part.paragraphs : []));
    joinDividedWords(paragraphs);
    const blocks = new Map(this.#headings.toBlocks(paragraphs).map((block, at) => [paragraphs[at], block]));
    return [
      ...parts.flatMap((part) =>
        'contents' in part ? [part.contents] : part.paragraphs.map((each) => blocks.get(each) as BlockDraft),
      ),
      ...runningTitles.map((title): BlockDraft => ({ kind: 'paragraph', ...title, boilerplate: true })),
    ];
  }

  /** Split a page into its paragraphs and tables of contents, in order. */
  #partsOf({ page, lines }: PdfPageLines): Array<{ paragraphs: PdfParagraph[] } | { contents: BlockDraft }> {
    const contents = contentsLines(lines, this.#contentsPage === page - 1 && page > 1);
    if (contents.size === 0) return [{ paragraphs: toParagraphs(lines, page) }];
    if (contents.has(lines.at(-1) as PdfLine)) this.#contentsPage = page;
    const runs: PdfLine[][] = [];
    for (const [at, line] of lines.entries()) {
      const before = lines[at - 1];
      if (before !== undefined && contents.has(before) === contents.has(line)) runs.at(-1)?.push(line);
      else runs.push([line]);
    }
    return runs.map((run) => {
      if (!contents.has(run[0] as PdfLine)) return { paragraphs: toParagraphs(run, page) };
      const text = run.map((line) => line.text.replace(/(?:[.…·‥_]\s*){4,}/g, ' … ')).join('\n');
      return { contents: { kind: 'paragraph', text, page, boilerplate: true } };
    });
  }
}

/** Move the rest of a word that is split between pages to the page where it starts. */
function joinDividedWords(paragraphs: readonly PdfParagraph[]): void {
  for (const [index, paragraph] of paragraphs.entries()) {
    const next = paragraphs[index + 1];
    if (next === undefined || next.page !== paragraph.page + 1 || !continuesWord(paragraph.text, next.text)) continue;
    const [rest = ''] = next.text.split(/\s/, 1);
    paragraph.text = joinLines([paragraph.text, rest]);
    next.text = next.text.slice(rest.length).trimStart();
  }
}
