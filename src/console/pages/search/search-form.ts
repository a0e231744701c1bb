import type { Message } from '../../lib/i18n.ts';

/** Values of the search form. They are also the query of the page's URL. */
export interface SearchForm {
  readonly bucket: string;
  readonly query: string;
  readonly modes: readonly Mode[];
  readonly topK: number;
  readonly collection: string;
  readonly rerank: boolean;
  /** False to search words as spelled. */
  readonly correct: boolean;
  readonly maxPerDocument: number | null;
  readonly filters: readonly FilterRow[];
}

export type Mode = 'hybrid' | 'vector' | 'keyword';
export const MODES: readonly Mode[] = ['hybrid', 'vector', 'keyword'];

export const MODE_NAMES: Readonly<Record<Mode, Message>> = {
  hybrid: 'Hybrid',
  vector: 'By meaning',
  keyword: 'By words',
};

export const OPERATORS = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin'] as const;
export type Operator = (typeof OPERATORS)[number];

export interface FilterRow {
  readonly key: string;
  readonly operator: Operator;
  readonly value: string;
}

/** Default number of results. */
export const TOP_K = 10;

export function readForm(query: URLSearchParams): SearchForm {
  const modes = MODES.filter((mode) => query.getAll('mode').includes(mode));
  return {
    bucket: query.get('bucket') ?? '',
    query: query.get('q') ?? '',
    modes: modes.length === 0 ? ['hybrid'] : modes,
    topK: Number(query.get('top_k')) || TOP_K,
    collection: query.get('collection') ?? '',
    rerank: query.get('rerank') === 'true',
    correct: query.get('correct') !== 'false',
    maxPerDocument: Number(query.get('max_per_document')) || null,
    filters: query.getAll('filter').flatMap(readFilter),
  };
}

function readFilter(text: string): FilterRow[] {
  const [key, operator, ...value] = text.split('~');
  const known = OPERATORS.find((each) => each === operator);
  return key === undefined || known === undefined ? [] : [{ key, operator: known, value: value.join('~') }];
}

/** Write the form as the query of a URL. */
export function writeForm(form: SearchForm): string {
  const query = new URLSearchParams({ bucket: form.bucket, q: form.query });
  for (const mode of form.modes) query.append('mode', mode);
  if (form.topK !== TOP_K) query.set('top_k', String(form.topK));
  if (form.collection !== '') query.set('collection', form.collection);
  if (form.rerank) query.set('rerank', 'true');
  if (!form.correct) query.set('correct', 'false');
  if (form.maxPerDocument !== null) query.set('max_per_document', String(form.maxPerDocument));
  for (const { key, operator, value } of form.filters) {
    if (key !== '') query.append('filter', `${key}~${operator}~${value}`);
  }
  return query.toString();
}

/** Build the body of `POST /v2/buckets/{bucket}/search` for the form in one mode. */
export function bodyOf(form: SearchForm, mode: Mode): Record<string, unknown> {
  const conditions = form.filters.filter(({ key }) => key !== '').map(conditionOf);
  const filter = conditions.length > 1 ? { type: 'and', filters: conditions } : conditions[0];
  return {
    query: form.query,
    mode,
    top_k: form.topK,
    explain: true,
    highlights: true,
    ...(form.collection === '' ? {} : { collection: form.collection }),
    ...(filter === undefined ? {} : { filter }),
    ...(form.rerank ? { rerank: true } : {}),
    ...(form.correct ? {} : { correct: false }),
    ...(form.maxPerDocument === null ? {} : { max_per_document: form.maxPerDocument }),
  };
}

function conditionOf({ key, operator, value }: FilterRow): Record<string, unknown> {
  const isList = operator === 'in' || operator === 'nin';
  const values = value.split(',').map((each) => each.trim());
  return { type: operator, key, value: isList ? values : value };
}
