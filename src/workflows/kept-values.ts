import { storableJson, storableText } from '../platform/postgres/storable-json.ts';

/** Maximum size of a value in the history: an output or the arguments of one block, or the inputs of a run. */
const KEPT_BYTES_MAX = 64 * 1024;

/** Maximum number of documents to remember for a value. */
const DOCUMENT_IDS_MAX = 1_000;

/** Value in a form that the history can store. */
export interface KeptValue {
  readonly value: unknown;
  /**
   * Documents that the value names. They are kept even if the value is too large, because derived values may show them.
   */
  readonly documentIds: readonly string[];
}

/**
 * Convert a value to a storable form: without U+0000 and lone surrogates, which PostgreSQL refuses, and omitted if too
 * large.
 */
export function toKept(value: unknown): KeptValue {
  const json = storableJson(value ?? null);
  const documentIds = [...new Set(json.match(/doc_[0-9a-z]+/g))].slice(0, DOCUMENT_IDS_MAX);
  const bytes = Buffer.byteLength(json);
  return { value: bytes > KEPT_BYTES_MAX ? { left_out: `${bytes} bytes` } : JSON.parse(json), documentIds };
}

/** Return true if the history omits a value because it was too large or showed a deleted document. */
export function isLeftOut(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).join() === 'left_out';
}

export function toKeptText(text: string | null): string | null {
  return text === null ? null : storableText(text);
}
