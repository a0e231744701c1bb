import { z } from 'zod';
import { VERSION } from '../../src/platform/version.ts';
import { escapeHtml, PAGE_HEADERS, PAGE_MEDIA_TYPE, PAGE_TYPE, renderPage } from '../page.ts';
import { defineRoute, type Route } from '../route.ts';

/** Destinations for visitors, with descriptions. */
const LINKS = [
  ['console', '/console', 'Console', 'Buckets, documents, searches and jobs in the browser.'],
  ['help', '/help', 'Documentation', 'Guides, settings and commands.'],
  ['docs', '/docs', 'API reference', 'Every route, with its fields and answers.'],
  ['openapi', '/openapi.json', 'OpenAPI document', 'The same for programs.'],
  ['ready', '/readyz', 'Readiness', 'State of the database, the files and the search index.'],
  ['health', '/healthz', 'Health', 'Answers while the process is alive.'],
] as const;

const Home = z
  .object({ name: z.literal('service'), version: z.string(), links: z.record(z.string(), z.string()) })
  .meta({ id: 'Home' });

/** Create the route of the page at the root: links for people, the same links as JSON for clients. */
export function homeRoutes(): Route[] {
  const body: z.output<typeof Home> = {
    name: 'service',
    version: VERSION,
    links: Object.fromEntries(LINKS.map(([name, path]) => [name, path])),
  };
  const page = Buffer.from(renderHome());
  return [
    defineRoute({
      method: 'GET',
      path: '/',
      operationId: 'getHome',
      summary: 'Links to the parts of this service: a page for browsers, JSON for other clients',
      access: 'public',
      headers: { ...PAGE_HEADERS, Vary: 'Accept' },
      responses: { 200: { description: 'The links', schema: Home, otherMediaType: PAGE_MEDIA_TYPE } },
      async handle({ prefersHtml }) {
        return prefersHtml ? { body: page, type: PAGE_TYPE } : { body };
      },
    }),
  ];
}

function renderHome(): string {
  const items = LINKS.map(
    ([, path, title, text]) => `<dt><a href="${path}">${escapeHtml(title)}</a></dt><dd>${escapeHtml(text)}</dd>`,
  );
  return renderPage(
    'service',
    `<header><h1>service ${escapeHtml(VERSION)}</h1><p class="source">Embeddings, documents and search.</p></header>
<main><dl>
${items.join('\n')}
</dl></main>`,
  );
}
