import type { KOREAN } from '../messages/korean.ts';

/** Sentence of the console in English, which is also the key of its translation. */
export type Message = keyof typeof KOREAN;

type Values = Readonly<Record<string, string | number>>;

export type Language = 'en' | 'ko';

let language: Language = 'en';
let translations: Readonly<Record<string, string>> | null = null;

/** Load the texts of the browser's first supported language. Call this once, before rendering anything. */
export async function openLanguage(preferred: readonly string[]): Promise<void> {
  const known = preferred.map((tag) => tag.toLowerCase().split('-')[0]).find((tag) => tag === 'en' || tag === 'ko');
  language = known ?? 'en';
  if (language === 'ko') translations = (await import('../messages/korean.ts')).KOREAN;
  document.documentElement.lang = language;
}

export function currentLanguage(): Language {
  return language;
}

/** Placeholder for a number and its noun in English: `{count|chunk|chunks}`. */
const COUNTED = /\{(\w+)\|([^|}]*)\|([^|}]*)\}/g;

/** Translate a sentence, and fill values into its `{placeholders}`. */
export function t(message: Message, values?: Values): string {
  const text = translations?.[message] ?? message;
  if (values === undefined) return text;
  const counted = text.replace(
    COUNTED,
    (_, name: string, one: string, many: string) => `{${name}} ${values[name] === 1 ? one : many}`,
  );
  return counted.replace(/\{(\w+)\}/g, (place, name: string) => {
    const value = values[name];
    if (value === undefined) return place;
    return typeof value === 'number' ? value.toLocaleString(language) : value;
  });
}

/** Translate an API name, such as a status. Return names without a translation unchanged. */
export function translateName(name: string): string {
  return translations?.[name] ?? name.replaceAll('_', ' ');
}
