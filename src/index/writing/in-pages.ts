/** Number of rows of a page of what maintenance goes through. */
export const PAGE_ROWS = 100;

/**
 * Go through all entries of a list page by page, in the order of their keys. Entries that stay in the list, since the
 * work on them fails, do not keep those behind them from being reached.
 *
 * @param find reads the next entries behind a key; "" for the first ones
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
