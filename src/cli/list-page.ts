/** A list as the API's own lists look, for what has no endpoint: all of it, or the newest up to `rowsMax`. */
export function listPage<Row>(
  data: Row[],
  rowsMax = Number.POSITIVE_INFINITY,
): { object: 'list'; data: Row[]; has_more: boolean; next_cursor: null } {
  return { object: 'list', data, has_more: data.length >= rowsMax, next_cursor: null };
}
