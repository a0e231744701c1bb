import type { Sql, SqlFragment } from '../../platform/postgres.ts';

/**
 * Transactions whose changes a query sees: those below `xmax` that were not in progress. PostgreSQL numbers
 * transactions in the order in which they begin to write.
 */
export interface Snapshot {
  /**
   * Start and run of the server, since another one, or one that has lost its last transactions, may use their numbers
   * again. Null: the run has no id yet, so that no other snapshot is known to be of the same one.
   */
  readonly server: string | null;
  /** Every transaction below has ended. */
  readonly xmin: number;
  readonly xmax: number;
  readonly inProgress: readonly number[];
}

/** Snapshot as PostgreSQL tells it. */
export interface SnapshotRow {
  /** `pg_snapshot`: `xmin:xmax:xid,xid` (PostgreSQL manual, "Transaction ID and Snapshot Information Functions"). */
  readonly snapshot: string;
  /** Start of its first process, which outlives the crash of another one. */
  readonly server: string;
  /** Id that a crash removes; null: there is none yet. */
  readonly run: string | null;
}

/** Columns of the snapshot of a statement. */
export function snapshotColumns(sql: Sql): SqlFragment {
  return sql`
    pg_current_snapshot()::text AS snapshot, extract(epoch FROM pg_postmaster_start_time())::text AS server,
    (SELECT run FROM server_run) AS run`;
}

export function toSnapshot({ snapshot, server, run }: SnapshotRow): Snapshot {
  const [xmin = '', xmax = '', xids = ''] = snapshot.split(':');
  return {
    server: run === null ? null : `${server} ${run}`,
    xmin: Number(xmin),
    xmax: Number(xmax),
    inProgress: xids === '' ? [] : xids.split(',').map(Number),
  };
}

/** Return true if both are of one run of one server, so that their numbers can be compared. */
export function isOfSameServer(snapshot: Snapshot, other: Snapshot): boolean {
  return snapshot.server !== null && snapshot.server === other.server;
}

/** Return true if one snapshot sees everything that the other sees. Of two snapshots of one server, one always does. */
export function includesSnapshot(snapshot: Snapshot, other: Snapshot): boolean {
  return (
    snapshot.xmax >= other.xmax &&
    snapshot.inProgress.every((xid) => xid >= other.xmax || other.inProgress.includes(xid))
  );
}
