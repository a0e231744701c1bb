import type { Locator } from '../documents/locator.ts';

/** Describe a place in a document: its sheet, slide or pages, and its headings. */
export function describePlace(locator: Locator): string[] {
  const headings = locator.heading_path.length === 0 ? [] : [locator.heading_path.join(' › ')];
  return [...placeOf(locator), ...headings];
}

function placeOf({ page, page_end, sheet, slide }: Locator): string[] {
  if (sheet !== undefined) return [`sheet ${sheet}`];
  if (slide !== undefined) return [`slide ${slide}`];
  if (page === null) return [];
  return [page_end && page_end > page ? `pages ${page}–${page_end}` : `page ${page}`];
}
