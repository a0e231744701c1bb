/** Time to keep old table versions and replaced tables for readers that still use them. */
export const KEEP_VERSIONS_MS = 10 * 60_000;
