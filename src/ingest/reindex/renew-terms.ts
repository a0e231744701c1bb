import { INDEX_TERMS_VERSION } from '../../language/terms-version.ts';
import type { Chore } from '../../platform/chores.ts';
import { AppError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logger.ts';
import { planRebuild } from './plan-rebuild.ts';
import { type ReindexContext, reindexBucket } from './reindex-bucket.ts';
import { hasOutdatedTerms, type OutdatedBucket, selectOutdatedBuckets } from './terms-store.ts';

/** Actor in the audit log for runs that the installation starts itself. */
const ACTOR = 'system:index';

/**
 * Create the chore that rebuilds an index whose terms are from an earlier version. It reads the stored texts and
 * vectors, and calls no provider. Searches use the current index until then. A failed bucket is retried after a
 * restart.
 */
export function renewTermsChore(context: ReindexContext & { readonly logger: Logger }, everyMs: number): Chore {
  const failed = new Set<string>();
  return {
    name: 'renewal of index terms',
    everyMs,
    async run(signal) {
      for (const bucket of await selectOutdatedBuckets(context.sql, INDEX_TERMS_VERSION)) {
        signal.throwIfAborted();
        if (!failed.has(bucket.id) && !(await renew(context, bucket, signal))) failed.add(bucket.id);
      }
    },
  };
}

/** @returns false if the bucket can't be renewed */
async function renew(
  context: ReindexContext & { readonly logger: Logger },
  { id, orgId }: OutdatedBucket,
  signal: AbortSignal,
): Promise<boolean> {
  const { sql, logger } = context;
  const makePlan = async () => {
    const plan = await planRebuild(sql, { orgId }, id);
    // Another process may have renewed the bucket meanwhile.
    return (await hasOutdatedTerms(sql, id, INDEX_TERMS_VERSION)) ? plan : { ...plan, mode: 'nothing' as const };
  };
  try {
    const detail = () => ({ terms_version: INDEX_TERMS_VERSION });
    const { result } = await reindexBucket(context, { orgId, actor: ACTOR }, makePlan, { signal, detail });
    logger.info({ bucket: id, documents: result.documents }, 'the index of a bucket has the terms of this version now');
    return true;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    logger.warn({ err: error, bucket: id }, 'the index of a bucket keeps the terms of an earlier version');
    return false;
  }
}
