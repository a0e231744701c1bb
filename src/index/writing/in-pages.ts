/** Number of rows of a page of a list that maintenance processes. */
export const PAGE_ROWS = 100;

/**
 * Process all entries of a list page by page, in the order of their keys. Entries stay in the list if processing them
 * fails. The following pages begin behind them.
 *
 * @param find reads the next entries behind a key, or the first ones for ""
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
