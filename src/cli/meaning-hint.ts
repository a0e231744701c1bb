import type { Appliance } from '../appliance/appliance.ts';

/** Hint at the local model that searches by meaning without a vendor. */
export const MEANING_HINT =
  'search matches words only; to search by meaning, install a model (about 490 MB): service models install intfloat/multilingual-e5-small --prompts e5';

/** Return true if the built-in model is the only one that can embed. */
export function knowsWordsOnly({ embedding: { backends } }: Pick<Appliance, 'embedding'>): boolean {
  return !backends.catalog.list().some((model) => model.kind === 'semantic' && backends.isAvailable(model));
}
