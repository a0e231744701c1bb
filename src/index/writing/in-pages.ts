/** Number of entries per page of a maintenance list. */
export const PAGE_ROWS = 100;

/**
 * Process all entries of a list page by page, in key order. If processing fails, the entries stay in the list, and the
 * next page starts after them.
 *
 * @param find reads the next entries after a key, or the first ones for ""
 */
export async function* inPages<T>(
  find: (after: string) => Promise<readonly T[]>,
  keyOf: (entry: T) => string,
): AsyncGenerator<T> {
  for (let after = ''; ; ) {
    const page = await find(after);
    const last = page.at(-1);
    if (last === undefined) return;
    yield* page;
    after = keyOf(last);
  }
}
