/**
 * Return true if a paragraph style is for code. Compare the stored name, which is English in every language of the
 * office program.
 */
export function isCodeStyle(name: string): boolean {
  return /^(html (preformatted|code)|preformatted text|source ?code|code( block)?|macro)$/i.test(name);
}
