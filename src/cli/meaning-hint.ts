import type { Appliance } from '../appliance/appliance.ts';

/** Hint at the built-in model that searches by meaning, in installations that began with the other one. */
export const MEANING_HINT =
  'search matches words only; to search by meaning, move the buckets to the built-in model local/semantic-1: service models adopt local/semantic-1';

/** Return true if the lexical model embeds what names no model. */
export function knowsWordsOnly({ embedding: { backends } }: Pick<Appliance, 'embedding'>): boolean {
  return backends.aliasBackends.every(({ kind }) => kind === 'lexical');
}
