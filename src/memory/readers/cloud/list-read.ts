import { type EntryFault, type ListedEntry, type ReadEntry, SourceFault } from '../source-reader.ts';

/** Maximum number of concurrent reads of entries. */
const CONCURRENT_READS = 4;

/**
 * Read entries individually, with bounded concurrency. Omit missing entries. Report a refused entry as its own fault.
 *
 * @throws SourceFault if the service doesn't respond
 */
export async function readEach(
  entries: readonly ListedEntry[],
  read: (entry: ListedEntry) => Promise<ReadEntry | EntryFault>,
): Promise<(ReadEntry | EntryFault)[]> {
  const queue = entries.values();
  const found: (ReadEntry | EntryFault)[] = [];
  const work = async () => {
    for (const entry of queue) {
      try {
        found.push(await read(entry));
      } catch (error) {
        if (!(error instanceof SourceFault) || error.retryable) throw error;
        if (error.category !== 'source_missing') found.push({ key: entry.key, fault: error.message });
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_READS }, work));
  return found;
}
