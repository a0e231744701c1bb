import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../errors.ts';
import type { Service } from '../lifecycle.ts';
import type { Logger } from '../logger.ts';
import { repeatingTask } from '../repeating-task.ts';
import { mapPostgresError } from './errors.ts';
import type { QueryLimit } from './query-limit.ts';
import type { Reads, ReplicaStatus, StaleRead } from './reads.ts';
import type { Database, Sql } from './sql.ts';

const CHECK_EVERY_MS = 1_000;
const CHECK_MS_MAX = 2_000;
/** Maximum number of known positions of the primary: one per check. */
const POSITIONS_MAX = 600;
/** Maximum time that a current read waits for the replica to catch up, and the polling interval. */
const WAIT_MS_MAX = 100;
const WAIT_STEP_MS = 5;

const OK = 'ok';
const NOT_CHECKED = 'it was not checked yet';

/** Position in the primary's write-ahead log (WAL). */
interface Position {
  /** Time by `performance.now()`. Everything committed before it is in the log up to `lsn`. */
  readonly atMs: number;
  readonly lsn: number;
  /** Number of the timeline, which a failover changes. */
  readonly timeline: number;
}

/** Reason why the primary has to answer a read. */
class NotFit extends Error {}

/**
 * Reads on a streaming replica of PostgreSQL. It compares positions in the write-ahead log, not clocks, so the replica
 * of an idle primary isn't behind. A read and the check of the replica share a transaction, so they reach the same
 * server, even behind a proxy for several replicas.
 *
 * Functions: https://www.postgresql.org/docs/current/functions-admin.html (recovery information, backup control) and
 * functions-info.html (control data).
 */
export class ReplicaReads implements Reads {
  readonly #primary: Sql;
  readonly #replica: Database;
  readonly #maxLagMs: number;
  readonly #logger: Logger;
  readonly #checks: Service;
  /** Newest last. */
  #positions: readonly Position[] = [];
  #status: ReplicaStatus = { state: NOT_CHECKED, lagMs: null, answered: 0, refused: 0 };
  #asking: Promise<unknown> = Promise.resolve();
  #nextAnswer: Promise<Position> | null = null;

  constructor(
    { primary, replica }: { readonly primary: Sql; readonly replica: Database },
    { maxLagMs, logger }: { readonly maxLagMs: number; readonly logger: Logger },
  ) {
    this.#primary = primary;
    this.#replica = replica;
    this.#maxLagMs = maxLagMs;
    this.#logger = logger;
    this.#checks = repeatingTask('check of the replica', CHECK_EVERY_MS, logger, () => this.#check());
  }

  get replica(): ReplicaStatus {
    return this.#status;
  }

  watch(): void {
    void this.#checks.start(new AbortController().signal);
  }

  async close(): Promise<void> {
    await this.#checks.stop();
    await this.#replica.end({ timeout: 5 });
  }

  async current<T>(limit: QueryLimit, read: (sql: Sql) => Promise<T>): Promise<T> {
    const answer = await this.#tryReplica(limit, async (tx) => {
      await waitFor(tx, await this.#askPosition());
      return read(tx);
    });
    return answer === null ? read(this.#primary.limited(limit)) : answer.value;
  }

  async stale<T>(limit: QueryLimit, read: (sql: Sql) => Promise<T>): Promise<StaleRead<T>> {
    const answer = await this.#tryReplica(limit, async (tx) => {
      const ageMs = await this.#ageOf(tx);
      if (ageMs > this.#maxLagMs) throw new NotFit(describeLag(ageMs));
      return { value: await read(tx), ageMs };
    });
    return answer === null ? { value: await read(this.#primary.limited(limit)), ageMs: 0 } : answer.value;
  }

  /** Read on the replica. Return null if the primary has to answer. @throws errors that aren't the replica's fault */
  async #tryReplica<T>(limit: QueryLimit, read: (tx: Sql) => Promise<T>): Promise<{ value: T } | null> {
    if (this.#status.state === OK) {
      try {
        const value = await this.#replica.limited(limit).begin('isolation level read committed read only', read);
        this.#note({ answered: this.#status.answered + 1 });
        return { value };
      } catch (error) {
        if (limit.signal?.aborted === true || isOfRequest(error)) throw error;
        if (isOutOfReach(error)) this.#note({ state: describeFault(error) });
      }
    }
    this.#note({ refused: this.#status.refused + 1 });
    return null;
  }

  /** Record the primary's position, and check that the replica follows it. Never rejects. */
  async #check(): Promise<void> {
    const limit = { ms: CHECK_MS_MAX };
    let lagMs = Number.POSITIVE_INFINITY;
    const state = await this.#replica
      .limited(limit)
      .begin('read only', async (tx) => {
        const [own, others] = await Promise.all([readInstallation(this.#primary.limited(limit)), readInstallation(tx)]);
        if (own !== others) throw new NotFit('it is not a replica of the database at DATABASE_URL');
        this.#keep(await this.#askPosition());
        lagMs = await this.#ageOf(tx);
        return lagMs > this.#maxLagMs ? describeLag(lagMs) : OK;
      })
      .catch(describeFault);
    this.#note({ state, lagMs: Number.isFinite(lagMs) ? lagMs : null });
  }

  #keep(position: Position): void {
    const isSame = this.#positions.at(-1)?.timeline === position.timeline;
    this.#positions = [...(isSame ? this.#positions.slice(1 - POSITIONS_MAX) : []), position];
  }

  #note(change: Partial<ReplicaStatus>): void {
    const { state: before } = this.#status;
    this.#status = { ...this.#status, ...change };
    const { state } = this.#status;
    if (state === before) return;
    if (state === OK) this.#logger.info('the replica answers reads');
    else if (before === OK || before === NOT_CHECKED) {
      this.#logger.warn({ reason: state }, 'the primary answers instead of the replica');
    }
  }

  /** Return the age of a replica's data; infinity if it is behind all known positions. @throws NotFit */
  async #ageOf(tx: Sql): Promise<number> {
    const newest = this.#positions.at(-1);
    if (newest === undefined) throw new NotFit(NOT_CHECKED);
    const lsn = await readReplayed(tx, newest.timeline);
    const reached = this.#positions.findLast((position) => position.lsn <= lsn);
    return reached === undefined ? Number.POSITIVE_INFINITY : performance.now() - reached.atMs;
  }

  /** Ask the primary for its position. Concurrent calls share the next answer. */
  #askPosition(): Promise<Position> {
    // An answer to an earlier question may miss recent commits.
    this.#nextAnswer ??= this.#asking.then(() => {
      this.#nextAnswer = null;
      const answer = readPosition(this.#primary.limited({ ms: CHECK_MS_MAX })).catch((error) => {
        throw error instanceof NotFit ? error : new NotFit('the primary does not report its position');
      });
      this.#asking = answer.catch(() => undefined);
      return answer;
    });
    return this.#nextAnswer;
  }
}

/** Read the primary's position. @throws NotFit if the position doesn't show what was committed */
async function readPosition(sql: Sql): Promise<Position> {
  const atMs = performance.now();
  const [row] = await sql<{ lsn: number; timeline: string; commits: string }[]>`
    SELECT (at - '0/0'::pg_lsn)::bigint AS lsn, left(pg_walfile_name(at), 8) AS timeline,
           current_setting('synchronous_commit') AS commits
    FROM pg_current_wal_lsn() AS at`;
  if (row === undefined) throw new NotFit('the primary did not report its position');
  if (row.commits === 'off')
    throw new NotFit('the primary has synchronous_commit off, so its position is not reliable');
  return { atMs, lsn: row.lsn, timeline: Number.parseInt(row.timeline, 16) };
}

/**
 * Read the position up to which a replica has everything. Its control data name the timeline that it follows. They may
 * reflect a failover some minutes late; until then, the primary answers.
 * @throws NotFit if it isn't a replica, or follows another timeline
 */
async function readReplayed(tx: Sql, timeline: number): Promise<number> {
  const [row] = await tx<{ lsn: number | null; timeline: number; standby: boolean }[]>`
    SELECT pg_is_in_recovery() AS standby, (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::bigint AS lsn,
           greatest((SELECT timeline_id FROM pg_control_checkpoint()),
                    (SELECT min_recovery_end_timeline FROM pg_control_recovery())) AS timeline`;
  if (row?.standby !== true || row.lsn === null) throw new NotFit('it is not a streaming replica');
  if (row.timeline !== timeline) throw new NotFit('it stopped following the primary after a failover');
  return row.lsn;
}

/** Wait briefly for a replica to reach a position. @throws NotFit if it doesn't */
async function waitFor(tx: Sql, { lsn, timeline }: Position): Promise<void> {
  const endMs = performance.now() + WAIT_MS_MAX;
  while ((await readReplayed(tx, timeline)) < lsn) {
    if (performance.now() > endMs) throw new NotFit('it does not have the newest changes yet');
    await delay(WAIT_STEP_MS);
  }
}

/** Read the values that identify an installation. */
async function readInstallation(sql: Sql): Promise<string> {
  const [row] = await sql<{ check: string }[]>`SELECT encode(secret_key_check, 'hex') AS check FROM installation`;
  return row?.check ?? '';
}

/** Return true for a fault of the request, which would also occur on the primary, and for an exhausted time limit. */
function isOfRequest(error: unknown): boolean {
  return error instanceof AppError && (error.status < 500 || error.code === 'query_timeout');
}

/** Return true if the replica didn't answer. A refusal of one query, as in a recovery conflict, is an answer. */
function isOutOfReach(error: unknown): boolean {
  const known = mapPostgresError(error);
  return known instanceof AppError && ['postgres_unavailable', 'postgres_refused'].includes(known.code);
}

/** Describe a fault of the replica without its address or password. */
function describeFault(error: unknown): string {
  if (error instanceof NotFit) return error.message;
  const known = mapPostgresError(error);
  if (!(known instanceof AppError)) return 'it refuses a query';
  return known.code === 'postgres_refused' ? 'it refuses the login of DATABASE_REPLICA_URL' : 'it is not reachable';
}

function describeLag(ageMs: number): string {
  return Number.isFinite(ageMs) ? `it is ${(ageMs / 1000).toFixed(1)} s behind` : 'it is far behind';
}
