import { z } from 'zod';

export const Order = z.enum(['asc', 'desc']).default('desc');

/** Create the schema of a list's cursor, the id of an item that may be deleted. @param prefix that of the ids */
export function cursorOf(prefix: string) {
  return z
    .string()
    .max(128)
    .regex(new RegExp(`^${prefix}_[0-9a-z]+$`), `must be an id of this list, such as ${prefix}_…`)
    .optional()
    .describe('id of the last item of the previous page, which may be deleted');
}

/** Create the schema of a page of a list in OpenAI's shape. */
export function listPage<T extends z.ZodType>(item: T) {
  return z.object({
    object: z.literal('list'),
    data: z.array(item),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  });
}

/**
 * Build a page of up to `limit` items from one more item than that.
 * @param options.isReversed true if the items are in reverse order
 */
export function pageOf<T extends { readonly id: string }>(
  found: readonly T[],
  limit: number,
  { isReversed = false } = {},
) {
  const data = found.slice(0, limit);
  if (isReversed) data.reverse();
  return {
    object: 'list' as const,
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: found.length > limit,
  };
}

/** Return whole seconds since 1970, the time format of OpenAI's API. */
export function unixSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1000);
}
