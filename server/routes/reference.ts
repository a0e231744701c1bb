import { z } from 'zod';
import { notFound } from '../../src/platform/errors.ts';
import { VERSION } from '../../src/platform/version.ts';
import { PAGE_HEADERS } from '../page-headers.ts';
import { defineRoute, type Route } from '../route.ts';
import { BUILT_PAGES, notBuilt, StaticFolder } from '../static-files.ts';

/** Files that the page loads. */
const ASSETS = ['swagger-ui.css', 'page.css', 'swagger-ui-bundle.js', 'start.js'];

const PAGE = Buffer.from(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference</title>
<link rel="stylesheet" href="/docs/assets/swagger-ui.css?v=${VERSION}">
<link rel="stylesheet" href="/docs/assets/page.css?v=${VERSION}">
<link rel="icon" href="data:,">
</head>
<body>
<main id="reference"></main>
<script src="/docs/assets/swagger-ui-bundle.js?v=${VERSION}"></script>
<script src="/docs/assets/start.js?v=${VERSION}"></script>
</body>
</html>
`);

/**
 * Create the routes of the interactive reference, which shows /openapi.json and sends requests with the reader's key.
 */
export function referenceRoutes(): Route[] {
  const assets = new StaticFolder(`${BUILT_PAGES}reference/`);
  const common = { method: 'GET', access: 'public', capacity: 'none' } as const;
  return [
    defineRoute({
      ...common,
      path: '/docs',
      operationId: 'showReference',
      summary: 'The interactive reference of this API',
      responses: { 200: { description: 'The page', mediaType: 'text/html' } },
      handle: async () => ({ body: PAGE, type: 'text/html; charset=utf-8', headers: PAGE_HEADERS }),
    }),
    defineRoute({
      ...common,
      path: '/docs/assets/:file',
      operationId: 'getReferenceAsset',
      summary: 'A script or style of the reference',
      params: z.object({ file: z.string().max(200) }),
      responses: { 200: { description: 'The file', mediaType: '*/*' } },
      async handle({ params, encodings }) {
        if (!ASSETS.includes(params.file)) throw notFound('file', params.file);
        const file = await assets.read(params.file, { accepts: encodings, isFixed: true });
        if (file === null) throw notBuilt('reference');
        return { body: file.body, type: file.type, headers: { ...PAGE_HEADERS, ...file.headers }, isShared: true };
      },
    }),
  ];
}
