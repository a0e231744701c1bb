import { matchingTerms } from '../language/analyser.ts';
import { locateTerms } from '../language/locate-terms.ts';
import { oneLine, printable } from '../platform/printable.ts';
import type { SearchResult } from '../search/schema.ts';
import { describePlace } from './describe-place.ts';
import { hasColours, paint, terminalColumns } from './output.ts';
import { wrapText } from './wrap-text.ts';

const INDENT = '   ';
/** Maximum line length: longer lines are tiring to read on any terminal. */
const LINE_CELLS_MAX = 100;

/**
 * Render results as a numbered list: relevance, file, page and heading path, then the passage. A terminal wraps the
 * passage and, with colours, highlights the words of the query. Elsewhere each line stays whole, for `grep`.
 *
 * @param query words to highlight; empty for none
 * @param snippets part of each passage to print; null for whole passages
 */
export function renderResults(
  results: readonly SearchResult[],
  query: string,
  snippets: readonly string[] | null,
): string {
  const columns = terminalColumns();
  const cells =
    columns === null ? Number.POSITIVE_INFINITY : Math.min(LINE_CELLS_MAX, Math.max(20, columns)) - INDENT.length;
  const highlight = hasColours() ? highlighter(query) : (line: string) => line;
  return results
    .map((result, index) => {
      const passage = wrapText(printable(snippets?.[index] ?? result.text), cells).filter((line) => line !== '');
      return [titleOf(result, index), ...passage.map((line) => INDENT + highlight(line))].join('\n');
    })
    .join('\n\n');
}

function titleOf(result: SearchResult, index: number): string {
  const { file_name, source_path, locator } = result.citation;
  const place = describePlace(locator)
    .map((part) => ` · ${part}`)
    .join('');
  const title = `${paint('bold', oneLine(source_path ?? file_name))}${paint('dim', oneLine(place))}`;
  return `${index + 1}. [${result.relevance_score?.toFixed(2) ?? '-'}] ${title}`;
}

/** Create a function that highlights all inflected forms of a query's words. */
function highlighter(query: string): (line: string) => string {
  const terms = matchingTerms(query);
  return (line) => {
    let painted = '';
    let at = 0;
    for (const { start, end } of locateTerms(line, terms)) {
      painted += line.slice(at, start) + paint(['bold', 'yellow'], line.slice(start, end));
      at = end;
    }
    return painted + line.slice(at);
  };
}
