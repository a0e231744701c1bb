import type { QueryLimit } from './query-limit.ts';
import type { Sql } from './sql.ts';

/** Result of a read that may return old data. */
export interface StaleRead<T> {
  readonly value: T;
  /** Age of the data in ms: it includes every change committed longer ago. 0 if the primary answered. */
  readonly ageMs: number;
}

/**
 * Reads that a replica may answer. All other queries go to the primary: access checks, quotas, index versions and
 * searches. `read` must not write. If the replica fails, it runs again on the primary.
 */
export interface Reads {
  /**
   * Read data that includes everything committed before this call, in any process. A replica answers only if it is that
   * current, so that changed rights apply immediately and clients read their own writes.
   */
  current<T>(limit: QueryLimit, read: (sql: Sql) => Promise<T>): Promise<T>;
  /**
   * Read data that may be as old as `database_replica_max_lag_seconds`. Never use it for data that access rights limit.
   */
  stale<T>(limit: QueryLimit, read: (sql: Sql) => Promise<T>): Promise<StaleRead<T>>;
  /** State of the replica; null if none is configured. */
  readonly replica: ReplicaStatus | null;
  /** Start using the replica, if there is one. Until then the primary answers. */
  watch(): void;
  close(): Promise<void>;
}

/** State of a replica, and its statistics in this process. */
export interface ReplicaStatus {
  /** `ok`, or the reason why the primary currently answers. */
  readonly state: string;
  /** Age of its data at the last check, in ms; null if unknown. */
  readonly lagMs: number | null;
  /** Numbers of reads that the replica answered, and that the primary answered instead. */
  readonly answered: number;
  readonly refused: number;
}

/** Create the reads of an installation without a replica. */
export function primaryReads(sql: Sql): Reads {
  return {
    current: (limit, read) => read(sql.limited(limit)),
    stale: async (limit, read) => ({ value: await read(sql.limited(limit)), ageMs: 0 }),
    replica: null,
    watch: () => undefined,
    close: async () => undefined,
  };
}
