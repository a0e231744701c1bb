import { z } from 'zod';
import { notFound } from '../../src/platform/errors.ts';
import { PAGE_HEADERS } from '../page-headers.ts';
import { defineRoute, type Route, type RouteReply } from '../route.ts';
import { BUILT_PAGES, notBuilt, StaticFolder } from '../static-files.ts';

/** Create the routes of the web console. Its pages contain no data: they call the API with the browser's session. */
export function consoleRoutes(directory: string = BUILT_PAGES): Route[] {
  const pages = new StaticFolder(directory);
  const assets = new StaticFolder(`${directory}assets/`);
  const common = { method: 'GET', access: 'public', capacity: 'none' } as const;
  const responses = { 200: { description: 'The page', mediaType: 'text/html' } };

  async function page(): Promise<RouteReply> {
    const file = await pages.read('index.html', { accepts: undefined, isFixed: false });
    if (file === null) throw notBuilt('console');
    return { body: file.body, type: file.type, headers: { ...PAGE_HEADERS, ...file.headers }, isShared: true };
  }

  return [
    defineRoute({
      ...common,
      path: '/console',
      operationId: 'showConsole',
      summary: 'The web console',
      responses,
      handle: page,
    }),
    defineRoute({
      ...common,
      path: '/console/*page',
      operationId: 'showConsolePage',
      summary: 'A page of the web console',
      params: z.object({ page: z.string().max(1_000) }),
      responses,
      async handle({ params }) {
        // A name with an extension is a file, and files are under assets.
        if (/\.[^/]*$/.test(params.page)) throw notFound('page', params.page);
        return page();
      },
    }),
    defineRoute({
      ...common,
      path: '/console/assets/:file',
      operationId: 'getConsoleAsset',
      summary: 'A script, style or picture of the web console',
      params: z.object({ file: z.string().max(200) }),
      responses: { 200: { description: 'The file', mediaType: '*/*' } },
      async handle({ params, encodings }) {
        const file = await assets.read(params.file, { accepts: encodings, isFixed: true });
        if (file === null) throw notFound('file', params.file);
        return { body: file.body, type: file.type, headers: { ...PAGE_HEADERS, ...file.headers }, isShared: true };
      },
    }),
  ];
}
