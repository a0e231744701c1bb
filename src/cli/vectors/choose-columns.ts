import { isRounded, ROUNDED_RULE } from '../../documents/user-metadata.ts';
import { invalidRequest } from '../../platform/errors.ts';
import type { ColumnChoice, OldRow } from './old-row.ts';

export interface Columns {
  readonly id: string;
  readonly vector: string;
  readonly text: string | null;
  readonly metadata: readonly string[];
}

/** Usual column names in old indexes, most specific first. */
const USUAL = {
  id: ['id', 'uuid', 'chunk_id', 'document_id', 'doc_id', 'key', '_id'],
  vector: ['embedding', 'vector', 'embeddings', 'values', 'emb'],
  text: ['text', 'content', 'chunk', 'document', 'page_content', 'body', 'passage'],
  metadata: ['metadata', 'cmetadata', 'meta', 'payload'],
} as const;

/** Choose the columns to read by flags, or else by their usual names. @throws AppError `invalid_request` (400) */
export function chooseColumns(names: readonly string[], given: ColumnChoice): Columns {
  const find = (flag: string, asked: string | undefined, usual: readonly string[]): string | null => {
    if (asked === undefined) return usual.find((name) => names.includes(name)) ?? null;
    if (names.includes(asked)) return asked;
    throw invalidRequest(`--${flag}: there is no column "${asked}"; the columns are ${names.join(', ')}`, flag);
  };
  const id = find('id-column', given.idColumn, USUAL.id);
  const vector = find('vector-column', given.vectorColumn, USUAL.vector);
  if (id === null) throw missing('ids', 'id-column', names);
  if (vector === null) throw missing('vectors', 'vector-column', names);
  const usualMetadata = find('metadata-columns', undefined, USUAL.metadata);
  const metadata =
    given.metadataColumns?.map((name) => find('metadata-columns', name, []) as string) ??
    (usualMetadata === null ? [] : [usualMetadata]);
  return { id, vector, text: find('text-column', given.textColumn, USUAL.text), metadata };
}

function missing(what: string, flag: string, names: readonly string[]) {
  return invalidRequest(`name the column of the ${what} with --${flag}; the columns are ${names.join(', ')}`, flag);
}

export function describeColumns({ id, vector, text, metadata }: Columns): string {
  const of = text === null ? 'no text' : `text from ${text}`;
  const more = metadata.length === 0 ? 'no metadata' : `metadata from ${metadata.join(', ')}`;
  return `ids from ${id}, vectors from ${vector}, ${of}, ${more}`;
}

/** Build a row from the values of its columns. @throws AppError `invalid_request` that names the place */
export function rowOf(
  columns: Columns,
  read: (column: string) => unknown,
  { file, place }: { readonly file: string; readonly place: string },
): OldRow {
  const refuse = (column: string, fault: string) => invalidRequest(`${file}, ${place}: ${column} ${fault}`, 'vectors');
  const id = read(columns.id);
  if (id === null || id === undefined || id === '' || typeof id === 'object') throw refuse(columns.id, 'is not an id');
  if (isRounded(id)) throw refuse(columns.id, ROUNDED_RULE);
  const vector = floatsOf(read(columns.vector));
  if (vector === null) throw refuse(columns.vector, 'is not a list of numbers');
  const text = columns.text === null ? null : (read(columns.text) ?? null);
  if (text !== null && typeof text !== 'string') throw refuse(columns.text as string, 'is not a text');
  return { id: String(id), vector, text, metadata: metadataOf(columns.metadata, read), place };
}

/** Parse a vector: an array of numbers, or `[0.1,0.2]` as pgvector writes it. Return null for anything else. */
function floatsOf(value: unknown): Float32Array | null {
  if (value instanceof Float32Array) return value;
  if (value instanceof Float64Array) return Float32Array.from(value);
  if (Array.isArray(value)) {
    return value.length > 0 && value.every((each) => typeof each === 'number') ? Float32Array.from(value) : null;
  }
  if (typeof value !== 'string' || !/^[[{].*[\]}]$/s.test(value)) return null;
  const parts = value.slice(1, -1).split(',');
  const numbers = Float32Array.from(parts, (part) => (part.trim() === '' ? Number.NaN : Number(part)));
  const isNumeric = parts.every((part, at) => !Number.isNaN(numbers[at]) || /^\s*nan\s*$/i.test(part));
  return isNumeric ? numbers : null;
}

/** Collect metadata. Flatten the keys of an object; convert lists and deeper objects to JSON. */
function metadataOf(names: readonly string[], read: (column: string) => unknown): Record<string, unknown> {
  const metadata: Record<string, unknown> = {};
  for (const name of names) {
    const value = parsed(read(name));
    if (value === null || value === undefined) continue;
    if (typeof value === 'object' && !Array.isArray(value)) {
      for (const [key, each] of Object.entries(value)) if (each !== null) metadata[key] = scalarOf(each);
    } else metadata[name] = scalarOf(value);
  }
  return metadata;
}

/** Parse the JSON object in a text column. Return any other text unchanged. */
function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !value.startsWith('{')) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

function scalarOf(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'bigint') return String(value);
  return typeof value === 'object'
    ? JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? String(each) : each))
    : value;
}
