import type { Sql, SqlFragment } from '../../platform/postgres.ts';

/**
 * Transactions whose changes a query sees: those below `xmax` that were not in progress. PostgreSQL numbers
 * transactions in the order of their first write.
 */
export interface Snapshot {
  /**
   * Start and run of the server. Another server can use the same transaction ids again, and so can a server that lost
   * its last transactions. Null if the run has no id yet; then no other snapshot is known to come from the same run.
   */
  readonly server: string | null;
  /** Id below which every transaction has ended. */
  readonly xmin: number;
  readonly xmax: number;
  readonly inProgress: readonly number[];
}

/** Snapshot in the form of PostgreSQL. */
export interface SnapshotRow {
  /** `pg_snapshot`: `xmin:xmax:xid,xid` (PostgreSQL manual, "Transaction ID and Snapshot Information Functions"). */
  readonly snapshot: string;
  /** Start time of the server's first process, which survives the crash of another process. */
  readonly server: string;
  /** Id that a crash removes; null if there is none yet. */
  readonly run: string | null;
}

/** Columns with the snapshot of a statement. */
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

/** Return true if both snapshots are from one run of one server, so that their transaction ids can be compared. */
export function isOfSameServer(snapshot: Snapshot, other: Snapshot): boolean {
  return snapshot.server !== null && snapshot.server === other.server;
}

/**
 * Return true if the first snapshot sees everything that the second sees. Of two snapshots of one server, one always
 * does.
 */
export function includesSnapshot(snapshot: Snapshot, other: Snapshot): boolean {
  return (
    snapshot.xmax >= other.xmax &&
    snapshot.inProgress.every((xid) => xid >= other.xmax || other.inProgress.includes(xid))
  );
}
