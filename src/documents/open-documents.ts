import type { Chore } from '../platform/chores.ts';
import { purgeDeleted, type RemovalContext } from './remove-documents.ts';
import { sweepOrphans } from './sweep-orphans.ts';

const ORPHANS_EVERY_MS = 6 * 3_600_000;
const ORPHANS_AGE_MS = 3_600_000;

/** Removal of documents, including their files and chunks. */
export interface Documents {
  /** Context of removals, for hard delete jobs. */
  readonly removal: RemovalContext;
  /** Remove everything that is marked as deleted now. */
  purge(signal: AbortSignal): Promise<void>;
  /** Like `purge`, but erase the text from small index files now instead of within a minute. */
  purgeWithText(signal: AbortSignal): Promise<void>;
  readonly chores: (everyMs: number) => readonly Chore[];
}

export function openDocuments(removal: RemovalContext): Documents {
  const { sql, objects, index } = removal;
  const purge = async (signal: AbortSignal) => void (await purgeDeleted(removal, signal));
  return {
    removal,
    purge,
    async purgeWithText(signal) {
      // Erase text that other removals left, even if one bucket fails.
      const failure = await purge(signal).then(
        () => null,
        (error: unknown) => ({ error }),
      );
      await index.expungeSmall(signal);
      if (failure) throw failure.error;
    },
    chores: (everyMs) => [
      { name: 'removal of deleted documents', everyMs, run: purge },
      {
        name: 'removal of orphaned files',
        everyMs: ORPHANS_EVERY_MS,
        run: async (signal) => void (await sweepOrphans(sql, objects, ORPHANS_AGE_MS, signal)),
      },
    ],
  };
}
