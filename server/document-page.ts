import { createHash } from 'node:crypto';
import { linkToChunk } from '../src/documents/document-link.ts';
import type { ChunkWindow } from '../src/ingest/document-text.ts';
import type { Locator } from '../src/search/schema.ts';

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --mark: #fd08; }
body { font: 16px/1.6 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.3rem; margin: 0; overflow-wrap: anywhere; }
header { border-bottom: 1px solid var(--line); padding-bottom: .75rem; }
.place, .source { font-size: .85rem; opacity: .7; margin: 0; overflow-wrap: anywhere; }
section { padding: .75rem; margin: .75rem 0; border-left: 3px solid transparent; }
section.cited, section:target { border-left-color: orange; background: var(--mark); }
.text { white-space: pre-wrap; overflow-wrap: anywhere; margin: .25rem 0 0; }
nav { display: flex; justify-content: space-between; padding: .75rem; }
`;

/** Source expression of the style sheet for `Content-Security-Policy`. */
export const PAGE_STYLE_HASH = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;

/** Render a document around one chunk, which is marked. All text of the document is escaped. */
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

/** Render a page that says why the document is not shown. */
export function renderRefusal(message: string): string {
  return renderPage('Document', `<header><h1>This document cannot be shown</h1></header><p>${escapeHtml(message)}</p>`);
}

function renderPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`;
}

function pagesOf(first: number, last: number | null): string {
  return last === null || last === first ? String(first) : `${first}–${last}`;
}

function escapeHtml(text: string): string {
  return text.replace(
    /[&<>"']/g,
    (character) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[character] as string,
  );
}
