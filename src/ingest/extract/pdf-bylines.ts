const AFFILIATION =
  /@|\b(?:University|Universit[äéà]\w*|Institut\w*|College|Department|Dept\.|Faculty|Laborator\w+|School of|GmbH|Inc\.|Ltd\.?|LLC)(?:\b|$)|대학교|연구소/;
const LED_BY_WORD = /^(?:by|written by|edited by|authors?:?|von|par|지은이|저자)\s/i;
/** Footnote marks at names. */
const MARKS = /[\d*†‡§¶#⁰¹²³⁴-⁹]+/g;
const NAME_WORD =
  /^(?:\p{Lu}\p{Ll}+(?:['’-]\p{Lu}\p{Ll}+)*|\p{Lu}{2,}|(?:\p{Lu}\.-?)+|Mc\p{Lu}\p{Ll}+|O['’]\p{Lu}\p{Ll}+)$/u;
const PARTICLE = /^(?:van|von|der|den|de|del|della|di|da|la|le|bin|al|ten|zu)$/;
const HANGUL_NAME = /^[가-힣]{2,4}$/;
const CHARS_MAX = 200;

/** Return true for a line that names an author or an author's affiliation. */
export function namesAuthor(text: string): boolean {
  return text.length <= CHARS_MAX && (LED_BY_WORD.test(text) || AFFILIATION.test(text));
}

/** Return true for a line that may be a list of people's names. A title case heading looks the same. */
export function resemblesNames(text: string): boolean {
  if (text.length > CHARS_MAX) return false;
  const names = text
    .replace(MARKS, ' ')
    .split(/,|;|·|&|\s(?:and|und|et|y|e)\s/)
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 0) return false;
  return names.every((name) => isName(name, names.length));
}

function isName(name: string, among: number): boolean {
  if (HANGUL_NAME.test(name)) return among > 1;
  const words = name.split(/\s+/).filter((word) => !PARTICLE.test(word));
  return words.length >= 2 && words.length <= 4 && words.every((word) => NAME_WORD.test(word));
}
