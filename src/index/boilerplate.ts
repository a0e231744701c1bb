/** Part of the stored locator of a table of contents, a menu or a running title. No text can contain it unescaped. */
export const BOILERPLATE = '"boilerplate":true';
