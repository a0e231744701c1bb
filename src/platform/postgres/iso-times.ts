/** Convert a row whose columns are the fields of a view: timestamps become ISO 8601 strings. */
export function withIsoTimes<View>(row: object): View {
  const fields = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Date ? value.toISOString() : value,
  ]);
  return Object.fromEntries(fields) as View;
}
