import { z } from 'zod';

/** Query of a list that is read page by page. */
export const PageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z
    .string()
    .max(128)
    .regex(/^[\w-]*$/, 'must be the next_cursor of an earlier page')
    .optional()
    .describe('next_cursor of the page before')
    .transform((cursor) => cursor || undefined),
});

/** Make the schema of one page of a list. */
export function pageSchema<T extends z.ZodType>(item: T) {
  return z.object({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
  });
}

/**
 * Read one page: one row more than the page holds tells if there is another.
 *
 * @param select returns at most `limit` rows after the row with the id `after`
 */
export async function readPage<T extends { readonly id: string }>(
  { limit, cursor }: z.output<typeof PageQuery>,
  select: (page: { limit: number; after: string | undefined }) => Promise<T[]>,
): Promise<{ object: 'list'; data: T[]; has_more: boolean; next_cursor: string | null }> {
  const rows = await select({ limit: limit + 1, after: cursor });
  const data = rows.slice(0, limit);
  const hasMore = rows.length > limit;
  return { object: 'list', data, has_more: hasMore, next_cursor: hasMore ? (data.at(-1)?.id ?? null) : null };
}
