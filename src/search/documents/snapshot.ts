import type { Sql, SqlFragment } from '../../platform/postgres.ts';

/**
 * Transactions whose changes a query sees: those below `xmax` that were not in progress. PostgreSQL numbers transactions in
 * the order in which they begin to write.
 */
export interface Snapshot {
  /** Start of the server, since another one, or one that has lost its last transactions, may use their numbers again. */
  readonly server: string;
  /** Every transaction below has ended. */
  readonly xmin: number;
  readonly xmax: number;
  readonly inProgress: readonly number[];
}

/** Snapshot as PostgreSQL tells it. */
export interface SnapshotRow {
  /** `pg_snapshot`: `xmin:xmax:xid,xid` (PostgreSQL manual, "Transaction ID and Snapshot Information Functions"). */
  readonly snapshot: string;
  readonly server: string;
}

/** Columns of the snapshot of a statement. */
export function snapshotColumns(sql: Sql): SqlFragment {
  return sql`pg_current_snapshot()::text AS snapshot, extract(epoch FROM pg_postmaster_start_time())::text AS server`;
}

export function toSnapshot({ snapshot, server }: SnapshotRow): Snapshot {
  const [xmin = '', xmax = '', xids = ''] = snapshot.split(':');
  return { server, xmin: Number(xmin), xmax: Number(xmax), inProgress: xids === '' ? [] : xids.split(',').map(Number) };
}

/** Return true if one snapshot sees everything that the other sees. Of two snapshots of one server, one always does. */
export function includesSnapshot(snapshot: Snapshot, other: Snapshot): boolean {
  return (
    snapshot.xmax >= other.xmax &&
    snapshot.inProgress.every((xid) => xid >= other.xmax || other.inProgress.includes(xid))
  );
}
