import { type EntryFault, type ListedEntry, type ReadEntry, SourceFault } from '../source-reader.ts';

/** Reads of entries in progress at once. */
const CONCURRENT_READS = 4;

/**
 * Read entries one by one, some at a time. An entry that is gone is omitted; one that is refused is a fault of its own.
 *
 * @throws SourceFault if the place does not answer
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
