import type { Chore } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import type { VectorStoreContext } from './context.ts';
import { expireStores } from './expire-stores.ts';
import { deleteOldBatches } from './file-batches-store.ts';
import { deleteOldIdentities } from './store-files-store.ts';

/** Days for which a batch of files can be retrieved. */
const BATCH_DAYS = 30;

/** Vector stores in the shape of OpenAI's API. */
export interface VectorStores extends VectorStoreContext {
  readonly chores: (everyMs: number) => readonly Chore[];
}

export function openVectorStores(
  context: Omit<VectorStoreContext, 'plans'> & { readonly config: Pick<Config, 'plans'> },
): VectorStores {
  const { config, sql, notifier, logger, edits, reading } = context;
  return {
    sql,
    notifier,
    logger,
    edits,
    reading,
    plans: config.plans,
    chores: (everyMs) => [
      { name: 'expiry of vector stores', everyMs, run: (signal) => expireStores(sql, signal) },
      {
        name: 'removal of old records of vector stores',
        everyMs,
        async run() {
          await deleteOldIdentities(sql);
          await deleteOldBatches(sql, BATCH_DAYS);
        },
      },
    ],
  };
}
