/** Convert a row whose columns are the fields of a view: timestamps become ISO 8601 strings. */
export function withIsoTimes<View>(row: object): View {
  const fields = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Date ? value.toISOString() : value,
  ]);
  return Object.fromEntries(fields) as View;
}

/** Pick the columns of a row that are fields of a view, and convert it like `withIsoTimes`. */
export function viewOf<View>(row: Readonly<Record<string, unknown>>, columns: readonly string[]): View {
  return withIsoTimes<View>(Object.fromEntries(columns.map((name) => [name, row[name]])));
}
