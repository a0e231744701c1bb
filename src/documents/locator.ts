import { z } from 'zod';

/** Position in a chunk from which its text has this page and these headings. */
export const ChunkPlace = z.object({
  start: z.int().describe('first character in the extracted text'),
  page: z.int().nullable(),
  heading_path: z.array(z.string()),
});
export type ChunkPlace = z.output<typeof ChunkPlace>;

/** Position of a chunk in its document. */
export const Locator = z
  .object({
    page: z.int().nullable().describe('from 1; null where the format has no pages'),
    page_end: z.int().nullish(),
    heading_path: z.array(z.string()),
    start: z.int().describe('first character in the extracted text'),
    end: z.int().describe('one past the last character'),
    file: z.string().optional().describe('file in a mail; pages and headings are those of this file'),
    sheet: z.string().optional().describe('name of the sheet of a spreadsheet'),
    slide: z.int().optional().describe('number of the slide of a presentation'),
    table_header: z.string().optional().describe('names of the columns, if the chunk begins in the middle of a table'),
    boilerplate: z.literal(true).optional().describe('a table of contents, a menu or a running title'),
    places: z.array(ChunkPlace).optional().describe('all pages and sections of the chunk, if there are several'),
  })
  .meta({ id: 'Locator' });
export type Locator = z.output<typeof Locator>;
