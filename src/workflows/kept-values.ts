import { storableJson, storableText } from '../platform/postgres/storable-json.ts';

/** Largest value that the history keeps: an output or the arguments of one block, or the inputs of a run. */
const KEPT_BYTES_MAX = 64 * 1024;

/** Most documents that are remembered of a value. */
const DOCUMENT_IDS_MAX = 1_000;

/** Value in the form that the history can store. */
export interface KeptValue {
  readonly value: unknown;
  /** Documents that the value names, also if it was too large to be kept: values made from it may show them. */
  readonly documentIds: readonly string[];
}

/** Make a value storable: PostgreSQL has no U+0000 and no halves of surrogate pairs, and large values are left out. */
export function toKept(value: unknown): KeptValue {
  const json = storableJson(value ?? null);
  const documentIds = [...new Set(json.match(/doc_[0-9a-z]+/g))].slice(0, DOCUMENT_IDS_MAX);
  const bytes = Buffer.byteLength(json);
  return { value: bytes > KEPT_BYTES_MAX ? { left_out: `${bytes} bytes` } : JSON.parse(json), documentIds };
}

/** Tell if the history did not keep a value: it was too large, or it showed a document that was deleted. */
export function isLeftOut(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).join() === 'left_out';
}

/** Make a text storable. */
export function toKeptText(text: string | null): string | null {
  return text === null ? null : storableText(text);
}
