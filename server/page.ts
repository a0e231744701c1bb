import { createHash } from 'node:crypto';

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
dt { font-weight: 600; margin-top: .75rem; }
dd { margin: 0; }
`;

const STYLE_HASH = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;

/**
 * Headers of pages: browsers use only the page's own style sheet, don't store pages, and don't send their address as
 * referrer.
 */
export const PAGE_HEADERS = {
  'Content-Security-Policy': `default-src 'none'; style-src ${STYLE_HASH}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
};

export const PAGE_MEDIA_TYPE = 'text/html';
export const PAGE_TYPE = `${PAGE_MEDIA_TYPE}; charset=utf-8`;

/** Render a page. @param body HTML with escaped texts */
export function renderPage(title: string, body: string): string {
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

export function escapeHtml(text: string): string {
  return text.replace(
    /[&<>"']/g,
    (character) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[character] as string,
  );
}
