import { z } from 'zod';
import { textInteger } from '../src/platform/zod-integers.ts';

const NO_CURSOR = 'must be the next_cursor of an earlier page';

/** Query of a paginated list. */
export const PageQuery = z.object({
  limit: textInteger(z.int().min(1).max(200).default(50)),
  cursor: z
    .string()
    .max(128)
    .regex(/^[\w-]*$/, NO_CURSOR)
    .optional()
    .describe('next_cursor of the previous page')
    .transform((cursor) => cursor || undefined),
});

const NAME_CURSOR_CHARS_MAX = 1024;

/**
 * Query of a page of a list ordered by unique names. Its cursor contains the name of the last row, which may have been
 * deleted.
 */
export const NamePageQuery = z.object({
  limit: textInteger(z.int().min(1).max(200).default(200)),
  cursor: z
    .string()
    .max(NAME_CURSOR_CHARS_MAX)
    .regex(/^[\w-]*$/, NO_CURSOR)
    .refine((cursor) => nameCursor(nameOf(cursor)) === cursor && !nameOf(cursor).includes('\0'), NO_CURSOR)
    .optional()
    .describe('next_cursor of the previous page')
    .transform((cursor) => (cursor ? nameOf(cursor) : undefined)),
});

function nameCursor(name: string): string {
  return Buffer.from(name).toString('base64url');
}

function nameOf(cursor: string): string {
  return Buffer.from(cursor, 'base64url').toString();
}

/** Create the schema of one page of a list. */
export function pageSchema<T extends z.ZodType>(item: T) {
  return z.object({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
  });
}

interface PageRequest {
  readonly limit: number;
  readonly cursor: string | undefined;
}

interface ListPage<T> {
  readonly object: 'list';
  readonly data: T[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** Function that reads at most `limit` rows after the row `after`. */
type SelectRows<T> = (page: { limit: number; after: string | undefined }) => Promise<T[]>;

/**
 * Read one page. Read one more row than fits, to see if there is another page.
 * @param cursorOf returns the text that identifies a row in a cursor
 */
export async function readPageBy<T>(
  { limit, cursor }: PageRequest,
  select: SelectRows<T>,
  cursorOf: (row: T) => string,
): Promise<ListPage<T>> {
  const rows = await select({ limit: limit + 1, after: cursor });
  const data = rows.slice(0, limit);
  const last = rows.length > limit ? data.at(-1) : undefined;
  return {
    object: 'list',
    data,
    has_more: last !== undefined,
    next_cursor: last === undefined ? null : cursorOf(last),
  };
}

/** Read one page of a list whose cursors are ids. */
export function readPage<T extends { readonly id: string }>(
  page: PageRequest,
  select: SelectRows<T>,
): Promise<ListPage<T>> {
  return readPageBy(page, select, ({ id }) => id);
}

/** Read one page of a list ordered by name. For `select`, `after` is a name. */
export function readPageByName<T extends { readonly name: string }>(
  page: PageRequest,
  select: SelectRows<T>,
): Promise<ListPage<T>> {
  return readPageBy(page, select, ({ name }) => nameCursor(name));
}
