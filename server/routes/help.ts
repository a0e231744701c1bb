import path from 'node:path';
import { z } from 'zod';
import { notFound } from '../../src/platform/errors.ts';
import { PAGE_HEADERS } from '../page-headers.ts';
import { defineRoute, type Route } from '../route.ts';
import { BUILT_PAGES, StaticFolder } from '../static-files.ts';

const FIRST_PAGE = 'index.html';
/** Address of a page or picture, relative to the folder of the documentation. */
const RELATIVE = /(?<=\b(?:href|src)=")(?![a-z][a-z0-9+.-]*:|[#/])/g;
/** Folder of the pages: one or more segments that begin with a letter or digit. */
const FOLDER = /^(?:[A-Za-z0-9][\w-]*\/){0,5}$/;

/** Create the routes of the documentation, which `npm run build:console` renders. */
export function helpRoutes(directory: string = `${BUILT_PAGES}help/`): Route[] {
  const common = { method: 'GET', access: 'public', capacity: 'none' } as const;
  const folders = new Map<string, StaticFolder>();
  /** Read a file. Folders with pages are cached, so that concurrent requests read a file once. */
  const read = async (folder: string, name: string, accepts: string | undefined) => {
    const opened = folders.get(folder) ?? new StaticFolder(directory + folder);
    const file = await opened.read(name, { accepts, isFixed: false });
    if (file !== null) folders.set(folder, opened);
    return file;
  };
  return [
    defineRoute({
      ...common,
      path: '/help',
      operationId: 'showHelp',
      summary: 'The first page of the documentation',
      responses: { 200: { description: 'The page', mediaType: 'text/html' } },
      refusals: [404],
      async handle() {
        const file = await read('', FIRST_PAGE, undefined);
        if (file === null) throw notFound('page', FIRST_PAGE);
        // The page's links are relative to /help/, but this URL has no trailing slash.
        const body = Buffer.from(file.body.toString('utf8').replaceAll(RELATIVE, '/help/'));
        return { body, type: file.type, headers: { ...PAGE_HEADERS, ...file.headers } };
      },
    }),
    defineRoute({
      ...common,
      path: '/help/*page',
      operationId: 'showHelpPage',
      summary: 'A page or a picture of the documentation',
      params: z.object({ page: z.string().max(500) }),
      responses: { 200: { description: 'The page', mediaType: '*/*' } },
      async handle({ params, encodings }) {
        const name = path.posix.basename(params.page);
        const folder = params.page.slice(0, params.page.length - name.length);
        const file = FOLDER.test(folder) ? await read(folder, name, encodings) : null;
        if (file === null) throw notFound('page', params.page);
        return { body: file.body, type: file.type, headers: { ...PAGE_HEADERS, ...file.headers } };
      },
    }),
  ];
}
