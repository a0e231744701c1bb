import { createRequire } from 'node:module';

/** Languages in Latin script with their own stemmer, except English. */
export const STEMMED_LANGUAGES = [
  'de',
  'es',
  'fr',
  'it',
  'pt',
  'nl',
  'sv',
  'da',
  'no',
  'fi',
  'hu',
  'ro',
  'tr',
] as const;
export type StemmedLanguage = (typeof STEMMED_LANGUAGES)[number];

type Stemmer = (word: string) => string;

const require = createRequire(import.meta.url);

/**
 * Loaders of Snowball stemmers. A stemmer is loaded for the first word of its language. A change of stems needs a new
 * `INDEX_TERMS_VERSION`, which makes the service rebuild the indexes without embedding.
 */
const LOADERS: Readonly<Record<StemmedLanguage | 'ru', () => { readonly stemmer: Stemmer }>> = {
  de: () => require('@orama/stemmers/german'),
  es: () => require('@orama/stemmers/spanish'),
  fr: () => require('@orama/stemmers/french'),
  it: () => require('@orama/stemmers/italian'),
  pt: () => require('@orama/stemmers/portuguese'),
  nl: () => require('@orama/stemmers/dutch'),
  sv: () => require('@orama/stemmers/swedish'),
  da: () => require('@orama/stemmers/danish'),
  no: () => require('@orama/stemmers/norwegian'),
  fi: () => require('@orama/stemmers/finnish'),
  hu: () => require('@orama/stemmers/hungarian'),
  ro: () => require('@orama/stemmers/romanian'),
  tr: () => require('@orama/stemmers/turkish'),
  ru: () => require('@orama/stemmers/russian'),
};

const loaded = new Map<string, Stemmer>();

/** Return the stem of a lower-case word in NFC with its accents, by the Snowball algorithm of a language. */
export function stemIn(language: StemmedLanguage | 'ru', word: string): string {
  let stemmer = loaded.get(language);
  if (stemmer === undefined) {
    ({ stemmer } = LOADERS[language]());
    loaded.set(language, stemmer);
  }
  return stemmer(word);
}
