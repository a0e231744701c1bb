import type { SearchReply, SearchResult } from '../../client/schema.ts';
import { markUntrusted } from './mark-untrusted.ts';

/** Return the title of a result: its file, and the heading and page of the text. */
export function titleOf({ citation }: SearchResult): string {
  const heading = citation.locator.heading_path?.at(-1);
  return heading === undefined || heading === '' ? citation.file_name : `${citation.file_name}: ${heading}`;
}

function placeOf({ page, sheet, slide }: SearchResult['citation']['locator']): string[] {
  if (sheet) return [`sheet ${sheet}`];
  if (slide) return [`slide ${slide}`];
  return page ? [`page ${page}`] : [];
}

/** Return the sentences with words of the query, highlighted, or the whole text if there are none. */
function passageOf({ highlights = [], text }: SearchResult): string {
  if (highlights.length === 0) return text;
  const sentences = highlights.map(({ parts }) => parts.map((part) => (part.match ? `**${part.text}**` : part.text)));
  return sentences.map((parts) => parts.join('')).join('\n');
}

/** Render results as numbered text, marked as untrusted, each with its source before its text. Notes follow. */
export function renderResults({ results, relevance, corrected = [], warnings = [] }: SearchReply): string {
  const lines = results.map((result, index) => {
    const { file_name, locator, url } = result.citation;
    const heading = locator.heading_path?.join(' > ');
    const place = [
      `[${index + 1}] ${file_name}`,
      ...placeOf(locator),
      ...(heading ? [heading] : []),
      ...(result.relevance ? [`relevance ${result.relevance_score?.toFixed(2)} (${result.relevance})`] : []),
      ...(url ? [url] : []),
    ];
    return `${place.join(' | ')}\n${passageOf(result)}`;
  });
  const irrelevant = lines.length > 0 && relevance === 'none' ? ['no passage here seems to answer the query'] : [];
  const replaced = corrected.map(({ from, to }) => `nothing has the word "${from}"; "${to}" was searched instead`);
  const notes = [...replaced, ...irrelevant, ...warnings].map((note) => `Note: ${note}`);
  return [lines.length === 0 ? 'Nothing was found.' : markUntrusted(lines.join('\n\n')), ...notes].join('\n\n');
}
