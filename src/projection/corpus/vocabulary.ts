import { corpusData, type DomainLists, type GeneralWords, RULES, type Templates } from './corpus-data.ts';
import * as english from './english-forms.ts';
import { createDeck, type Deck, expand, parseTemplates, type Template, type Vocabulary } from './grammar.ts';
import { adjectiveForm, PARTICLE_NAMES, particleAfter, verbForm } from './korean-forms.ts';
import { englishValues, koreanValues } from './values.ts';

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

export interface DomainVocabularies {
  readonly name: string;
  readonly en: Vocabulary;
  readonly ko: Vocabulary;
}

/** Makes the vocabularies of all domains. General words come from decks that the domains share. */
export function createVocabularies(random: () => number): DomainVocabularies[] {
  const { domains, words, templates } = corpusData();
  const generalEnglish = decksOf(words.en, templates.en, random);
  const generalKorean = decksOf(words.ko, templates.ko, random);
  return domains.map((domain) => {
    const en = createEnglish(domain.en, generalEnglish, random);
    const ko = createKorean(domain.ko, generalKorean, random);
    return { name: domain.name, en: withForeign(en, ko), ko: withForeign(ko, en) };
  });
}

function decksOf(lists: GeneralWords, templates: Templates, random: () => number): Decks {
  const decks = new Map<string, Deck<string | Template>>();
  for (const [name, words] of Object.entries(lists)) decks.set(name, createDeck(words, random));
  for (const name of RULES) decks.set(name, createDeck(parseTemplates(templates[name]), random));
  return decks;
}

function domainDecks({ frame, ...lists }: DomainLists, general: Decks, random: () => number): Decks {
  const decks = new Map(general);
  for (const [name, words] of Object.entries(lists)) decks.set(name, createDeck(words, random));
  decks.set('frame', createDeck(parseTemplates(frame), random));
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
