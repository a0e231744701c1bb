import type { Sql, SqlFragment } from '../../platform/postgres.ts';

/**
 * Set of transactions whose changes a query sees: those below `xmax` that were not in progress. PostgreSQL numbers
 * transactions in the order of their first write.
 */
export interface Snapshot {
  /**
   * Start and run of the server. Another server may reuse the same transaction ids, and so may a server that lost its
   * last transactions. Null if the run has no id yet; the snapshot is then comparable with no other.
   */
  readonly server: string | null;
  /** Id below which every transaction has ended. */
  readonly xmin: number;
  readonly xmax: number;
  readonly inProgress: readonly number[];
}

/** Snapshot as returned by PostgreSQL. */
export interface SnapshotRow {
  /** `pg_snapshot`: `xmin:xmax:xid,xid` (PostgreSQL manual, "Transaction ID and Snapshot Information Functions"). */
  readonly snapshot: string;
  /** Start time of the server's first process, which survives the crash of another process. */
  readonly server: string;
  /** Id that a crash erases; null if there is none yet. */
  readonly run: string | null;
}

/** Build the columns that return a statement's snapshot. */
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

/** Return true if both snapshots are from one run of one server, so that their transaction ids are comparable. */
export function isOfSameServer(snapshot: Snapshot, other: Snapshot): boolean {
  return snapshot.server !== null && snapshot.server === other.server;
}

/**
 * Return true if the first snapshot sees everything that the second one sees. Of two snapshots of one server, at least
 * one includes the other.
 */
export function includesSnapshot(snapshot: Snapshot, other: Snapshot): boolean {
  return (
    snapshot.xmax >= other.xmax &&
    snapshot.inProgress.every((xid) => xid >= other.xmax || other.inProgress.includes(xid))
  );
}
