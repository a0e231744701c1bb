/** Time that old versions of a table, and replaced tables, are kept for readers that still use them. */
export const KEEP_VERSIONS_MS = 10 * 60_000;
