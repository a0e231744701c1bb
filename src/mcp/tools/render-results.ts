import type { SearchResult } from '../../client/schema.ts';

/** Title of a result: its file, and the heading and page where the text stands. */
export function titleOf({ citation }: SearchResult): string {
  const heading = citation.locator.heading_path?.at(-1);
  return heading === undefined || heading === '' ? citation.file_name : `${citation.file_name}: ${heading}`;
}

function placeOf({ page, sheet, slide }: SearchResult['citation']['locator']): string[] {
  if (sheet) return [`sheet ${sheet}`];
  if (slide) return [`slide ${slide}`];
  return page ? [`page ${page}`] : [];
}

/** Render results as text: numbered, each with its source before its text. */
export function renderResults(results: readonly SearchResult[], warnings: readonly string[] = []): string {
  const lines = results.map((result, index) => {
    const { file_name, locator, url } = result.citation;
    const heading = locator.heading_path?.join(' > ');
    const place = [
      `[${index + 1}] ${file_name}`,
      ...placeOf(locator),
      ...(heading ? [heading] : []),
      `score ${result.score.toFixed(2)}`,
      ...(url ? [url] : []),
    ];
    return `${place.join(' | ')}\n${result.text}`;
  });
  const notes = warnings.map((warning) => `Note: ${warning}`);
  return [...(lines.length === 0 ? ['Nothing was found.'] : lines), ...notes].join('\n\n');
}
