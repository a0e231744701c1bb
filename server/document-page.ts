import { linkToChunk } from '../src/documents/document-link.ts';
import type { Locator } from '../src/documents/locator.ts';
import type { ChunkWindow } from '../src/ingest/document-text.ts';
import { escapeHtml, renderPage } from './page.ts';

/** Render a document around one highlighted chunk. Escape all text of the document. */
export function renderDocumentPage(
  { document, chunks, isMoreBefore, isMoreAfter }: ChunkWindow,
  link: { readonly token: string; readonly chunk: number; readonly pageChunks: number },
): string {
  const { token, chunk: cited, pageChunks } = link;
  const at = (chunkIndex: number) => escapeHtml(linkToChunk(token, Math.max(chunkIndex, 0)));
  const sections = chunks.map(({ index, text, locator }) => {
    return `<section id="chunk-${index}"${index === cited ? ' class="cited"' : ''}>
<p class="place">${escapeHtml(placeOf(locator))}</p>
<p class="text">${escapeHtml(text)}</p>
</section>`;
  });
  const earlier = isMoreBefore ? `<a href="${at(cited - pageChunks)}">Earlier</a>` : '<span></span>';
  const later = isMoreAfter ? `<a href="${at(cited + pageChunks)}">Later</a>` : '<span></span>';
  const source = document.sourcePath === null ? '' : `<p class="source">${escapeHtml(document.sourcePath)}</p>`;
  return renderPage(
    document.fileName,
    `<header><h1>${escapeHtml(document.fileName)}</h1>${source}</header>
<main>${chunks.length === 0 ? '<p>There is no text at this place of the document.</p>' : sections.join('\n')}</main>
<nav>${earlier}${later}</nav>`,
  );
}

/** Describe the page, slide or sheet of a chunk and the headings of all sections in it. */
function placeOf({ page, page_end, slide, sheet, heading_path, places = [] }: Locator): string {
  const paths = places.length === 0 ? [heading_path] : places.map((place) => place.heading_path);
  const headings = [...new Set(paths.map((path) => path.join(' › ')))];
  const parts = [
    ...(sheet === undefined ? [] : [`Sheet ${sheet}`]),
    ...(slide !== undefined ? [`Slide ${slide}`] : page === null ? [] : [`Page ${pagesOf(page, page_end ?? null)}`]),
    ...headings,
  ];
  return parts.filter((part) => part !== '').join(' · ');
}

/** Render a page that explains why the document is not shown. */
export function renderRefusal(message: string): string {
  return renderPage('Document', `<header><h1>This document cannot be shown</h1></header><p>${escapeHtml(message)}</p>`);
}

function pagesOf(first: number, last: number | null): string {
  return last === null || last === first ? String(first) : `${first}–${last}`;
}
