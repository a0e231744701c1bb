import type { DomainLists, DomainWords } from './domain-words.ts';
import * as english from './english-forms.ts';
import { createDeck, type Deck, expand, parseTemplate, type Template, type Vocabulary } from './grammar.ts';
import { adjectiveForm, PARTICLE_NAMES, particleAfter, verbForm } from './korean-forms.ts';
import { ENGLISH_TEMPLATES } from './templates/english.ts';
import { KOREAN_TEMPLATES } from './templates/korean.ts';
import { englishValues, koreanValues } from './values.ts';
import { GENERAL_ENGLISH } from './words/general-english.ts';
import { GENERAL_KOREAN } from './words/general-korean.ts';

/** Stands for `a` or `an` until the word behind it is known. */
export const ARTICLE = '\u0001';

const ENGLISH_FORMS: Readonly<Record<string, (phrase: string) => string>> = {
  pl: english.pluralOf,
  past: english.pastOf,
  part: english.participleOf,
  ing: english.gerundOf,
  cap: english.capitalised,
  snake: english.snakeCase,
  camel: english.camelCase,
  pascal: english.pascalCase,
  kebab: english.kebabCase,
};
const KOREAN_VERBS = new Set(['act', 'everyday']);
const KOREAN_ADJECTIVES = new Set(['adj', 'good', 'bad', 'quality', 'feeling']);

type Decks = ReadonlyMap<string, Deck<string | Template>>;

/** A slot of the other language begins with its name. */
const FOREIGN = /^(?:en|ko)-/;

/** Lines of a template list. */
export function templatesOf(lines: string): Template[] {
  return lines
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => parseTemplate(line.replaceAll('↵', '\n')));
}

export interface DomainVocabularies {
  readonly name: string;
  readonly en: Vocabulary;
  readonly ko: Vocabulary;
}

/** Vocabularies of all domains. General words come from decks that the domains share. */
export function createVocabularies(domains: readonly DomainWords[], random: () => number): DomainVocabularies[] {
  const generalEnglish = decksOf(GENERAL_ENGLISH, ENGLISH_TEMPLATES, random);
  const generalKorean = decksOf(GENERAL_KOREAN, KOREAN_TEMPLATES, random);
  return domains.map((domain) => {
    const en = createEnglish(domain.en, generalEnglish, random);
    const ko = createKorean(domain.ko, generalKorean, random);
    return { name: domain.name, en: withForeign(en, ko), ko: withForeign(ko, en) };
  });
}

function decksOf(
  lists: Readonly<Record<string, string>>,
  rules: { readonly sentence: string; readonly clause: string },
  random: () => number,
): Decks {
  const decks = new Map<string, Deck<string | Template>>();
  for (const [name, words] of Object.entries(lists)) decks.set(name, createDeck(english.list(words), random));
  for (const name of ['sentence', 'clause'] as const) decks.set(name, createDeck(templatesOf(rules[name]), random));
  return decks;
}

function domainDecks({ frame, ...lists }: DomainLists, general: Decks, random: () => number): Decks {
  const decks = new Map(general);
  for (const [name, words] of Object.entries(lists)) decks.set(name, createDeck(english.list(words), random));
  decks.set('frame', createDeck(templatesOf(frame), random));
  return decks;
}

/** Values need words, never rules. */
const wordsOf = (decks: Decks) => (name: string) => String(drawFrom(decks, name));

function drawFrom(decks: Decks, name: string): string | Template {
  const deck = decks.get(name);
  if (!deck) throw new RangeError(`no list "${name}"`);
  return deck();
}

function createEnglish(lists: DomainLists, general: Decks, random: () => number): Vocabulary {
  const decks = domainDecks(lists, general, random);
  const values = englishValues(random, wordsOf(decks), () => wordsOf(decks)('unit'));
  return {
    random,
    draw: (name) => (name === 'a' ? ARTICLE : (values[name]?.() ?? drawFrom(decks, name))),
    inflect: (_, word, form) => {
      const inflect = ENGLISH_FORMS[form];
      if (!inflect) throw new RangeError(`no form "${form}"`);
      return inflect(word);
    },
  };
}

function createKorean(lists: DomainLists, general: Decks, random: () => number): Vocabulary {
  const decks = domainDecks(lists, general, random);
  const values = koreanValues(random, wordsOf(decks), () => wordsOf(decks)('unit'));
  const particles = new Set(PARTICLE_NAMES);
  return {
    random,
    draw: (name, before) =>
      particles.has(name) ? particleAfter(before, name) : (values[name]?.() ?? drawFrom(decks, name)),
    inflect: (name, word, form) => {
      if (KOREAN_VERBS.has(name)) return verbForm(word, form);
      if (KOREAN_ADJECTIVES.has(name)) return adjectiveForm(word, form);
      // What is expanded from a rule stops before its ending.
      if (name === 'clause') return word + form;
      throw new RangeError(`no form "${form}" of "${name}"`);
    },
  };
}

function withForeign(own: Vocabulary, other: Vocabulary): Vocabulary {
  return {
    random: own.random,
    draw: (name, before) => {
      if (!FOREIGN.test(name)) return own.draw(name, before);
      const found = other.draw(name.replace(FOREIGN, ''), before);
      return typeof found === 'string' ? found : expand(found, other);
    },
    inflect: (name, word, form) =>
      FOREIGN.test(name) ? other.inflect(name.replace(FOREIGN, ''), word, form) : own.inflect(name, word, form),
  };
}
