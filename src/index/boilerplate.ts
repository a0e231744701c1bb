/** Marker of a table of contents, menu or running title in a stored locator. It can't occur in any text unescaped. */
export const BOILERPLATE = '"boilerplate":true';
