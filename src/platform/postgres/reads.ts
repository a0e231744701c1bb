import type { QueryLimit } from './query-limit.ts';
import type { Sql } from './sql.ts';

/** Result of a read that allowed old data. */
export interface StaleRead<T> {
  readonly value: T;
  /** Age of the data in ms: every change that was committed longer ago is in it. 0: the primary answered. */
  readonly ageMs: number;
}

/**
 * Reads that a replica may answer. Every other query goes to the primary: whoever may see something, quotas, versions
 * of indexes, and searches. `read` only reads; it may run a second time, on the primary, if the replica fails.
 */
export interface Reads {
  /**
   * Read everything that was committed before this call, in any process. A replica answers only if it has it, so that
   * rights apply at once and clients find what they have written.
   */
  current<T>(limit: QueryLimit, read: (sql: Sql) => Promise<T>): Promise<T>;
  /** Read data that may be as old as `database_replica_max_lag_seconds`. Never use it for what rights limit. */
  stale<T>(limit: QueryLimit, read: (sql: Sql) => Promise<T>): Promise<StaleRead<T>>;
  /** State of the replica; null if the settings name none. */
  readonly replica: ReplicaStatus | null;
  /** Begin to use the replica, if there is one. Until then the primary answers. */
  watch(): void;
  close(): Promise<void>;
}

/** State of a replica, and what it did in this process. */
export interface ReplicaStatus {
  /** `ok`, or why the primary answers at present. */
  readonly state: string;
  /** Age of its data at the last check, in ms; null if unknown. */
  readonly lagMs: number | null;
  /** Reads that the replica answered, and those that the primary answered instead of it. */
  readonly answered: number;
  readonly refused: number;
}

/** Make the reads of an installation without a replica. */
export function primaryReads(sql: Sql): Reads {
  return {
    current: (limit, read) => read(sql.limited(limit)),
    stale: async (limit, read) => ({ value: await read(sql.limited(limit)), ageMs: 0 }),
    replica: null,
    watch: () => undefined,
    close: async () => undefined,
  };
}
