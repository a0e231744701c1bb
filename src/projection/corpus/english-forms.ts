/** Inflection of the English words of the calibration corpus; the rules do not cover all of English. */
import { corpusData } from './corpus-data.ts';

/** Words whose first letter is a consonant and whose first sound is a vowel, and the reverse. */
const VOWEL_SOUND =
  /^(?:hour|honest|honour|heir|MR[A-Z]|LED|NGO|SLA|SMS|SQL|SSH|X-ray|XML|HTTP|HTML|FAQ|RNA|LPG|LNG|MP|HR|8|11\b|18\b)/;
const CONSONANT_SOUND = /^(?:uni(?!n)|us(?:e|u)|ut[ie]|eu|ewe|one\b|once|ura|URL|USB|UV|uranium)/i;

const VOWELS = 'aeiou';

/**
 * Return the plural of a noun phrase, by its last word or the one before `of`: `bill of lading` -> `bills of lading`.
 */
export function pluralOf(phrase: string): string {
  const at = phrase.indexOf(' of ');
  if (at > 0) return pluralOf(phrase.slice(0, at)) + phrase.slice(at);
  const start = phrase.lastIndexOf(' ') + 1;
  const word = phrase.slice(start);
  return phrase.slice(0, start) + (corpusData().englishForms.plurals.get(word) ?? sibilant(word));
}

/** Append the `-s` of plurals and of the third person. */
function sibilant(word: string): string {
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`;
  if (/[^aeiou]o$/.test(word) && /(?:potato|tomato|hero|echo|cargo|veto|go|do|undo|embargo)$/.test(word))
    return `${word}es`;
  return /(?:s|x|z|ch|sh)$/.test(word) ? `${word}es` : `${word}s`;
}

/** Apply `inflect` to the first word: phrases such as `check in a suitcase` begin with their verb. */
function onVerb(phrase: string, inflect: (verb: string) => string): string {
  const end = phrase.indexOf(' ');
  return end < 0 ? inflect(phrase) : inflect(phrase.slice(0, end)) + phrase.slice(end);
}

export function pastOf(phrase: string): string {
  return onVerb(phrase, (verb) => irregularForms(verb)?.[0] ?? regularPast(verb));
}

export function participleOf(phrase: string): string {
  return onVerb(phrase, (verb) => irregularForms(verb)?.at(-1) ?? regularPast(verb));
}

export function gerundOf(phrase: string): string {
  return onVerb(phrase, (verb) => {
    if (/ie$/.test(verb)) return `${verb.slice(0, -2)}ying`;
    if (/[^eoy]e$/.test(verb) && verb !== 'be') return `${verb.slice(0, -1)}ing`;
    return `${doubled(verb)}ing`;
  });
}

/** Return the past and, if it differs, the past participle of an irregular verb. */
const irregularForms = (verb: string) => corpusData().englishForms.verbs.get(verb);

function regularPast(verb: string): string {
  if (verb.endsWith('e')) return `${verb}d`;
  if (/[^aeiou]y$/.test(verb)) return `${verb.slice(0, -1)}ied`;
  return `${doubled(verb)}ed`;
}

function doubled(verb: string): string {
  const last = verb.charAt(verb.length - 1);
  const oneSyllable = /^[^aeiou]*(?:qu)?[aeiou][bdfgklmnprtvz]$/.test(verb);
  return oneSyllable || corpusData().englishForms.doublingVerbs.has(verb) ? verb + last : verb;
}

/** Return `a` or `an` by the first sound of the following words. */
export function articleOf(following: string): 'a' | 'an' {
  if (VOWEL_SOUND.test(following)) return 'an';
  if (CONSONANT_SOUND.test(following)) return 'a';
  return VOWELS.includes(following.charAt(0).toLowerCase()) ? 'an' : 'a';
}

/** Return the words of a phrase in lower case, for an identifier. */
function identifierWords(phrase: string): string[] {
  return phrase.toLowerCase().match(/[a-z0-9]+/g) ?? ['value'];
}

export function snakeCase(phrase: string): string {
  return identifierWords(phrase).join('_');
}

export function kebabCase(phrase: string): string {
  return identifierWords(phrase).join('-');
}

export function pascalCase(phrase: string): string {
  return identifierWords(phrase)
    .map((word) => capitalised(word))
    .join('');
}

export function camelCase(phrase: string): string {
  const name = pascalCase(phrase);
  return name.charAt(0).toLowerCase() + name.slice(1);
}

export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const SMALL_WORDS = new Set('a an the of in on at to for and or with from by over into per as'.split(' '));

/** Capitalise a text as a book title. */
export function titleCase(text: string): string {
  return text
    .split(' ')
    .map((word, at) => (at > 0 && SMALL_WORDS.has(word) ? word : capitalised(word)))
    .join(' ');
}
