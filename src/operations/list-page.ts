/**
 * Build a list in the shape of the API's lists, for records without an endpoint: all of them, or the newest `rowsMax`.
 */
export function listPage<Row>(
  data: Row[],
  rowsMax = Number.POSITIVE_INFINITY,
): { object: 'list'; data: Row[]; has_more: boolean; next_cursor: null } {
  return { object: 'list', data, has_more: data.length >= rowsMax, next_cursor: null };
}
