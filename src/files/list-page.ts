import { z } from 'zod';

export const Order = z.enum(['asc', 'desc']).default('desc');

/** Page of a list in OpenAI's shape. */
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
 * Make a page of up to `limit` items from one item more than that.
 * @param options.isReversed the items come in the opposite order
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

/** Return whole seconds since 1970, as OpenAI's API writes times. */
export function unixSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1000);
}
