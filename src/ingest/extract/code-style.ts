/** Whether paragraphs of a style hold code, by the name that office programs give it in English whatever they show. */
export function isCodeStyle(name: string): boolean {
  return /^(html (preformatted|code)|preformatted text|source ?code|code( block)?|macro)$/i.test(name);
}
