import type { SearchReply, SearchResult } from '../../client/schema.ts';

/** Return the title of a result: file, heading and page. */
export function titleOf({ citation }: SearchResult): string {
  const heading = citation.locator.heading_path?.at(-1);
  return heading === undefined || heading === '' ? citation.file_name : `${citation.file_name}: ${heading}`;
}

/** Describe the page, sheet or slide of a passage, and its headings. */
export function placeOf({ page, sheet, slide, heading_path = [] }: SearchResult['citation']['locator']): string[] {
  const part = sheet ? [`sheet ${sheet}`] : slide ? [`slide ${slide}`] : page ? [`page ${page}`] : [];
  return heading_path.length === 0 ? part : [...part, heading_path.join(' > ')];
}

/** Return the highlighted sentences that contain query words, or the whole text if there are none. */
export function passageOf({ highlights = [], text }: Pick<SearchResult, 'highlights' | 'text'>): string {
  if (highlights.length === 0) return text;
  const sentences = highlights.map(({ parts }) => parts.map((part) => (part.match ? `**${part.text}**` : part.text)));
  return sentences.map((parts) => parts.join('')).join('\n');
}

/** Render a result: its id and source, then its text. */
export function renderResult(id: string, result: SearchResult, chunksCount: number | null): string {
  const { file_name, locator, url } = result.citation;
  const place = [
    `[${id}] ${file_name}`,
    ...placeOf(locator),
    ...(chunksCount === null ? [] : [`passage ${result.chunk_index + 1} of ${chunksCount}`]),
    ...(result.relevance ? [`relevance ${result.relevance_score?.toFixed(2)} (${result.relevance})`] : []),
    ...(url ? [url] : []),
  ];
  return `${place.join(' | ')}\n${passageOf(result)}`;
}

/** Render notes for a model about the results of a search, one per line. */
export function renderNotes(
  { relevance, corrected = [], warnings = [] }: Pick<SearchReply, 'relevance' | 'corrected' | 'warnings'>,
  counts: { readonly shown: number; readonly leftOut: number; readonly seen: number },
): string[] {
  const replaced = corrected.map(({ from, to }) => `nothing has the word "${from}"; "${to}" was searched instead`);
  const irrelevant = counts.shown > 0 && relevance === 'none' ? ['no passage here seems to answer the query'] : [];
  const seen = counts.seen === 0 ? [] : [`passages left out because you have seen them: ${counts.seen}`];
  const more =
    counts.leftOut === 0
      ? []
      : [`results that do not fit: ${counts.leftOut}; call again with exclude_seen: true, or with a larger max_tokens`];
  return [...replaced, ...irrelevant, ...warnings, ...seen, ...more].map((note) => `Note: ${note}`);
}
