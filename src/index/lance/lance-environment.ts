import { availableParallelism } from 'node:os';

/** Environment variables that a process working only on tables needs; no secret of the service is among them. */
const INHERITED =
  /^(LANCE_|AWS_(?!ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN)|(https?|no)_proxy$|SSL_CERT_|TMPDIR$)/i;

/**
 * Set the environment variables that configure LanceDB. It reads them at its first computation and has no other source
 * for them; variables that an operator has set are kept.
 *
 * - On a machine of up to four cores, LanceDB has as many threads for writing a keyword index as that has writers, and
 *   each writer waits for one more thread: an index of some 100,000 distinct words is never finished, and its lock is
 *   never released (lancedb/lancedb#3568).
 * - Merging files and building the keyword index read ahead and build in parallel without regard to memory. Smaller
 *   batches, less read-ahead and a single builder bound that; searches are as fast.
 */
export function bindLance(): void {
  const settings = {
    LANCE_CPU_THREADS: String(Math.max(4, availableParallelism())),
    LANCE_DEFAULT_BATCH_SIZE: '1024',
    LANCE_DEFAULT_IO_BUFFER_SIZE: String(16 * 1024 * 1024),
    LANCE_FTS_NUM_SHARDS: '1',
    LANCE_FTS_PARTITION_SIZE: '64',
    // Otherwise it warns that statistics of an index may be large.
    LANCE_INCLUDE_VECTOR_CENTROIDS: 'false',
  };
  // biome-ignore lint/style/noProcessEnv: LanceDB reads its settings nowhere else
  for (const [name, value] of Object.entries(settings)) process.env[name] ??= value;
}

/**
 * Settings of glibc's malloc that save memory: two heaps for all threads, and large blocks outside of them, so that
 * they return to the system when they are freed. Peak memory is lower by a third to a half. `bin/service` sets the same
 * for a worker.
 */
const MALLOC_SETTINGS = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: String(256 * 1024),
  MALLOC_TRIM_THRESHOLD_: String(1024 * 1024),
};

/** Environment of a process that works on tables: access settings that are not in the storage options. */
export function lanceEnvironment(): Record<string, string> {
  const kept: Record<string, string> = { ...MALLOC_SETTINGS };
  // biome-ignore lint/style/noProcessEnv: passed on, not read
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && INHERITED.test(name)) kept[name] = value;
  }
  return kept;
}
