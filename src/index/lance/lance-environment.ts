import { availableParallelism } from 'node:os';

/** Environment variables that a process needs to work on tables. None holds a secret of the service. */
const INHERITED =
  /^(LANCE_|AWS_(?!ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN)|(https?|no)_proxy$|SSL_CERT_|TMPDIR$)/i;

/**
 * Set the environment variables that configure LanceDB. It reads them at its first computation and nowhere else. Keep
 * variables that an operator has set.
 *
 * - LanceDB writes a keyword index with several writers. With up to four cores it has as many threads as writers, but
 *   each writer waits for one more thread. With some 100,000 distinct words, the build deadlocks and never releases its
 *   lock (lancedb/lancedb#3568).
 * - Merging files and building the keyword index read ahead and run in parallel, without a memory limit. Smaller
 *   batches, less read-ahead and a single builder bound the memory. Searches are as fast.
 */
export function bindLance(): void {
  const settings = {
    LANCE_CPU_THREADS: String(Math.max(4, availableParallelism())),
    LANCE_DEFAULT_BATCH_SIZE: '1024',
    LANCE_DEFAULT_IO_BUFFER_SIZE: String(16 * 1024 * 1024),
    LANCE_FTS_NUM_SHARDS: '1',
    LANCE_FTS_PARTITION_SIZE: '64',
    // Silence LanceDB's warning that index statistics may be large.
    LANCE_INCLUDE_VECTOR_CENTROIDS: 'false',
  };
  // biome-ignore lint/style/noProcessEnv: LanceDB reads its settings nowhere else
  for (const [name, value] of Object.entries(settings)) process.env[name] ??= value;
}

/**
 * glibc malloc settings that cut peak memory by a third to a half. All threads share two heaps. Large blocks are
 * allocated outside the heaps and return to the system when freed. `bin/service` has similar settings for servers and
 * workers.
 */
const MALLOC_SETTINGS = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: String(256 * 1024),
  MALLOC_TRIM_THRESHOLD_: String(1024 * 1024),
};

/** Return the environment for a process that works on tables, including access settings that storage options lack. */
export function lanceEnvironment(): Record<string, string> {
  const kept: Record<string, string> = { ...MALLOC_SETTINGS };
  // biome-ignore lint/style/noProcessEnv: passed on, not read
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && INHERITED.test(name)) kept[name] = value;
  }
  return kept;
}
