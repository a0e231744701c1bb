import { availableParallelism } from 'node:os';

/** Of the environment, what a process needs that does nothing but work on tables; no secret of ours is among it. */
const INHERITED =
  /^(LANCE_|AWS_(?!ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN)|(https?|no)_proxy$|SSL_CERT_|TMPDIR$)/i;

/**
 * LanceDB reads these when it first computes something, and takes them from nowhere else; what an operator has set stays.
 *
 * - On a machine of up to four cores it has as many threads for writing a keyword index as that has writers, each of which
 *   waits for one more: an index of some 100,000 distinct words is never finished, and its lock never released
 *   (lancedb/lancedb#3568).
 * - Merging files and building the keyword index read ahead, and build in parallel, as if memory were free: smaller
 *   batches, less read ahead and one builder at a time bound that; searches are as fast.
 */
export function bindLance(): void {
  const settings = {
    LANCE_CPU_THREADS: String(Math.max(4, availableParallelism())),
    LANCE_DEFAULT_BATCH_SIZE: '1024',
    LANCE_DEFAULT_IO_BUFFER_SIZE: String(16 * 1024 * 1024),
    LANCE_FTS_NUM_SHARDS: '1',
    LANCE_FTS_PARTITION_SIZE: '64',
    // Else it warns that statistics of an index may be large.
    LANCE_INCLUDE_VECTOR_CENTROIDS: 'false',
  };
  // biome-ignore lint/style/noProcessEnv: see above
  for (const [name, value] of Object.entries(settings)) process.env[name] ??= value;
}

/**
 * Two heaps for all threads, and what is large outside of them, so that it goes back to the system when it is freed: a
 * third to a half less memory at the peak. `bin/service` gives a worker the same.
 */
const THRIFTY_MALLOC = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: String(256 * 1024),
  MALLOC_TRIM_THRESHOLD_: String(1024 * 1024),
};

/** The environment of a process that works on tables: how they are reached, where it is not in the storage options. */
export function lanceEnvironment(): Record<string, string> {
  const kept: Record<string, string> = { ...THRIFTY_MALLOC };
  // biome-ignore lint/style/noProcessEnv: passed on, not read
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && INHERITED.test(name)) kept[name] = value;
  }
  return kept;
}
