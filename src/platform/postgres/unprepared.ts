/**
 * Run a query without keeping a prepared statement of it. postgres.js keeps one for every query text of a connection
 * until the connection closes; if callers determine the text, their number has no bound.
 * The tests pin the internals that this relies on (`Query.options.prepare` in postgres.js 3.4.9).
 */
export function unprepared<Q>(query: Q): Q {
  (query as { options?: { prepare?: boolean } }).options = {
    ...(query as { options?: object }).options,
    prepare: false,
  };
  return query;
}

/** Members of postgres.js's Query that tell its text; values and fragments are its arguments. */
interface QueryText {
  readonly strings: readonly string[];
  readonly args: readonly unknown[];
}

const ALL_COLUMNS = /(?:^|\bselect\s|\breturning\s|,)\s*(?:\w+\.)?\*/i;

/**
 * Return true if the text of a query, or one of its fragments, reads all columns of a table (`SELECT *`).
 *
 * After a migration has added a column, PostgreSQL refuses the prepared form of such a query ("cached plan must not
 * change result type"). postgres.js prepares it again, which in a transaction is too late: that has failed already.
 */
export function readsAllColumns(query: unknown): boolean {
  const { strings, args } = query as QueryText;
  return (
    strings.some((text) => ALL_COLUMNS.test(text)) ||
    args.some((arg) => arg instanceof Promise && 'strings' in arg && readsAllColumns(arg))
  );
}
