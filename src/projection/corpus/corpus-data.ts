import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** Line without leading or trailing space. */
const Line = z.string().regex(/^\S(?:.*\S)?$/u, 'an item is one line without space around it');
const Lines = z.array(Line).min(1);

/** Word lists and sentences of one domain in one language. */
const DomainLists = z.strictObject({
  /** People and organisations that act, in the singular: `tour guide`. */
  who: Lines,
  /** Countable things, in the singular: `boarding pass`. */
  thing: Lines,
  /** Subjects that people talk about: `jet lag`. */
  topic: Lines,
  /**
   * Actions in full: `renew a passport`. English: the base form first. Korean: with 하다 left out (`여권을 갱신`), or the
   * stem and the 아/어 form of its verb (`표를 끊/끊어`).
   */
  act: Lines,
  /** Adjectives. English: the form before a noun. Korean: with 하다 left out, or stem and 아/어 form (`멀/멀어`). */
  adj: Lines,
  /** Plausible amounts: `3-14 nights`. */
  unit: z.array(Line.regex(/^\d+-\d+\D/, 'an amount begins with two numbers, such as "3-14 nights"')).min(1),
  /** Whole sentences of this domain. */
  frame: Lines,
});
export type DomainLists = z.infer<typeof DomainLists>;

const Domain = z.strictObject({ en: DomainLists, ko: DomainLists });

/** Names of the tasks whose templates become texts. */
const TaskName = z.enum([
  'question',
  'howto',
  'keywords',
  'instruction',
  'statement',
  'passage',
  'definition',
  'review',
  'headline',
  'title',
  'row',
  'dialogue',
  'opinion',
  'claim',
  'answered',
  'paraphrase',
  'code',
  'code-question',
  'mixed',
]);
export type TaskName = z.infer<typeof TaskName>;

/** Templates that other templates expand by name. */
export const RULES = ['sentence', 'clause'] as const;

const Templates = z.record(z.enum([...TaskName.options, ...RULES]), Lines);
export type Templates = z.infer<typeof Templates>;

/** General words by the name of their list. Names of people, places and firms are invented. */
const GeneralWords = z.record(z.string(), Lines);
export type GeneralWords = z.infer<typeof GeneralWords>;

const Values = z.strictObject({
  /** HTTP status codes. */
  statuses: z.array(z.int()).min(1),
  en: z.strictObject({ numbers: Lines, cityPrefixes: z.array(z.string()).min(1), mailboxes: Lines }),
  ko: z.strictObject({ mailboxes: Lines }),
});
export type ValueLists = z.infer<typeof Values>;

const Plurals = z.record(Line, Line).transform(mapOf);
/** Past and, if it differs, past participle, by the base form. */
const Verbs = z.record(Line, Lines.max(2)).transform(mapOf);
/** Verbs of more than one syllable whose last consonant doubles. */
const DoublingVerbs = Lines.transform((verbs) => new Set(verbs));

export interface CorpusData {
  /** Domains by file name; the result of a seed depends on this order. */
  readonly domains: ReadonlyArray<z.infer<typeof Domain> & { readonly name: string }>;
  readonly words: { readonly en: GeneralWords; readonly ko: GeneralWords };
  readonly templates: { readonly en: Templates; readonly ko: Templates };
  readonly values: ValueLists;
  /** Irregular forms by the base form. */
  readonly englishForms: {
    readonly plurals: z.infer<typeof Plurals>;
    readonly verbs: z.infer<typeof Verbs>;
    readonly doublingVerbs: z.infer<typeof DoublingVerbs>;
  };
}

let loaded: CorpusData | null = null;

/** Return the word lists and templates of the calibration corpus, which are read at the first call. */
export function corpusData(): CorpusData {
  loaded ??= readCorpusData(new URL('./data/', import.meta.url));
  return loaded;
}

/**
 * Read the data of a corpus from its folder.
 *
 * @param folder ends with a slash
 * @throws Error that names a file which is not valid
 */
export function readCorpusData(folder: URL): CorpusData {
  const at = (path: string) => new URL(path, folder);
  return {
    domains: namesIn(at('domains/'), '.json').map((name) => ({
      name,
      ...readJson(at(`domains/${name}.json`), Domain),
    })),
    words: { en: readLists(at('words/en/'), GeneralWords), ko: readLists(at('words/ko/'), GeneralWords) },
    templates: { en: readLists(at('templates/en/'), Templates), ko: readLists(at('templates/ko/'), Templates) },
    values: readJson(at('values.json'), Values),
    englishForms: {
      plurals: readJson(at('forms/irregular-plurals.json'), Plurals),
      verbs: readJson(at('forms/irregular-verbs.json'), Verbs),
      doublingVerbs: readLines(at('forms/doubling-verbs.txt'), DoublingVerbs),
    },
  };
}

function mapOf<T>(record: Record<string, T>): ReadonlyMap<string, T> {
  return new Map(Object.entries(record));
}

/** Read a folder of lists by file name. */
function readLists<T>(folder: URL, schema: z.ZodType<T>): T {
  const lists = namesIn(folder, '.txt').map((name) => [name, readLines(new URL(`${name}.txt`, folder), Lines)]);
  return checked(folder, schema, Object.fromEntries(lists));
}

/** Read a file of one item per line, which ends with a newline. */
function readLines<T>(file: URL, schema: z.ZodType<T>): T {
  return checked(file, schema, readFileSync(file, 'utf8').replace(/\n$/, '').split('\n'));
}

function readJson<T>(file: URL, schema: z.ZodType<T>): T {
  return checked(file, schema, JSON.parse(readFileSync(file, 'utf8')));
}

/** Return the names of the files of a folder without their extension, in the same order on every system. */
function namesIn(folder: URL, extension: string): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(extension))
    .map((file) => file.slice(0, -extension.length))
    .sort();
}

function checked<T>(source: URL, schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (!result.success) throw new Error(`${fileURLToPath(source)} is not of its form: ${z.prettifyError(result.error)}`);
  return result.data;
}
