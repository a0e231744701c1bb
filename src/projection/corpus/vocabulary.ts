import { corpusData, type DomainLists, type GeneralWords, RULES, type Templates } from './corpus-data.ts';
import * as english from './english-forms.ts';
import { createSampler, expand, parseTemplates, type Sampler, type Template, type Vocabulary } from './grammar.ts';
import { adjectiveForm, PARTICLE_NAMES, particleAfter, verbForm } from './korean-forms.ts';
import { englishValues, koreanValues } from './values.ts';

/** Placeholder of `a` or `an` until the following word is known. */
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

type Samplers = ReadonlyMap<string, Sampler<string | Template>>;

/** Prefix of a slot of the other language: its name. */
const FOREIGN = /^(?:en|ko)-/;

export interface DomainVocabularies {
  readonly name: string;
  readonly en: Vocabulary;
  readonly ko: Vocabulary;
}

/** Create the vocabularies of all domains. General words come from samplers that the domains share. */
export function createVocabularies(random: () => number): DomainVocabularies[] {
  const { domains, words, templates } = corpusData();
  const generalEnglish = samplersOf(words.en, templates.en, random);
  const generalKorean = samplersOf(words.ko, templates.ko, random);
  return domains.map((domain) => {
    const en = createEnglish(domain.en, generalEnglish, random);
    const ko = createKorean(domain.ko, generalKorean, random);
    return { name: domain.name, en: withForeign(en, ko), ko: withForeign(ko, en) };
  });
}

function samplersOf(lists: GeneralWords, templates: Templates, random: () => number): Samplers {
  const samplers = new Map<string, Sampler<string | Template>>();
  for (const [name, words] of Object.entries(lists)) samplers.set(name, createSampler(words, random));
  for (const name of RULES) samplers.set(name, createSampler(parseTemplates(templates[name]), random));
  return samplers;
}

function domainSamplers({ frame, ...lists }: DomainLists, general: Samplers, random: () => number): Samplers {
  const samplers = new Map(general);
  for (const [name, words] of Object.entries(lists)) samplers.set(name, createSampler(words, random));
  samplers.set('frame', createSampler(parseTemplates(frame), random));
  return samplers;
}

/** Return a function that draws words by list name; values need no rules. */
const wordsOf = (samplers: Samplers) => (name: string) => String(drawFrom(samplers, name));

function drawFrom(samplers: Samplers, name: string): string | Template {
  const sampler = samplers.get(name);
  if (!sampler) throw new RangeError(`no list "${name}"`);
  return sampler();
}

function createEnglish(lists: DomainLists, general: Samplers, random: () => number): Vocabulary {
  const samplers = domainSamplers(lists, general, random);
  const values = englishValues(random, wordsOf(samplers), () => wordsOf(samplers)('unit'));
  return {
    random,
    draw: (name) => (name === 'a' ? ARTICLE : (values[name]?.() ?? drawFrom(samplers, name))),
    inflect: (_, word, form) => {
      const inflect = ENGLISH_FORMS[form];
      if (!inflect) throw new RangeError(`no form "${form}"`);
      return inflect(word);
    },
  };
}

function createKorean(lists: DomainLists, general: Samplers, random: () => number): Vocabulary {
  const samplers = domainSamplers(lists, general, random);
  const values = koreanValues(random, wordsOf(samplers), () => wordsOf(samplers)('unit'));
  const particles = new Set(PARTICLE_NAMES);
  return {
    random,
    draw: (name, before) =>
      particles.has(name) ? particleAfter(before, name) : (values[name]?.() ?? drawFrom(samplers, name)),
    inflect: (name, word, form) => {
      if (KOREAN_VERBS.has(name)) return verbForm(word, form);
      if (KOREAN_ADJECTIVES.has(name)) return adjectiveForm(word, form);
      // The expansion of a rule has no ending yet.
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
