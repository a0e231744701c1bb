import type { Appliance } from '../appliance/appliance.ts';

/** Hint about the built-in semantic model, for installations that started with the lexical one. */
export const MEANING_HINT =
  'search matches words only; to search by meaning, move the buckets to the built-in model local/semantic-1: service models adopt local/semantic-1';

/** Return true if the lexical model is the default model. */
export function knowsWordsOnly({ embedding: { backends } }: Pick<Appliance, 'embedding'>): boolean {
  return backends.aliasBackends.every(({ kind }) => kind === 'lexical');
}
