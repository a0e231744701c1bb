import type { InterceptMoment, PostgresInterceptor } from '../support/postgres-interceptor.ts';

/** Point of a job at which its worker can be stopped. It is found from outside, without hooks in the product. */
export interface FailPoint {
  readonly name: string;
  /** Statement at which the worker is stopped, or null for any point after a while. */
  readonly statement: RegExp | null;
  readonly moment: InterceptMoment;
  /** If set, only statements that follow one that matches this, on the same connection. */
  readonly follows?: RegExp;
  /** True to stop at a reply of the upstream instead of a statement. */
  readonly isUpstream?: boolean;
}

const CLAIM = /nextval\('document_generations'\)/;
const TERMINAL = /UPDATE jobs SET\s+status = 'ready'/;
const COMMIT = /^commit/i;

const COMMON: readonly FailPoint[] = [
  { name: 'anywhere', statement: null, moment: 'before' },
  { name: 'after the claim', statement: CLAIM, moment: 'after' },
  { name: 'after the upstream reply', statement: null, moment: 'after', isUpstream: true },
  { name: 'before the terminal update', statement: TERMINAL, moment: 'before' },
];

export const BULK_POINTS: readonly FailPoint[] = [
  ...COMMON,
  { name: 'before its commit', statement: COMMIT, moment: 'before', follows: TERMINAL },
  { name: 'after its commit', statement: COMMIT, moment: 'after', follows: TERMINAL },
  { name: 'chunk stored, not recorded', statement: /INSERT INTO bulk_chunks/, moment: 'before' },
  { name: 'chunk recorded', statement: /INSERT INTO bulk_chunks/, moment: 'after' },
];

/** Fail point at which the worker holds the lock on the bucket's index. */
export const LOCK_POINT: FailPoint = {
  name: 'before the index commit',
  statement: /select pg_backend_pid\(\) =/,
  moment: 'after',
};

export const INGEST_POINTS: readonly FailPoint[] = [
  ...COMMON,
  // One statement, which is its own transaction.
  { name: 'after the terminal update', statement: TERMINAL, moment: 'after' },
  { name: 'generation registered', statement: /INSERT INTO generations/, moment: 'after' },
  LOCK_POINT,
  { name: 'after the index commit', statement: /INSERT INTO index_tables/, moment: 'before' },
  { name: 'index version published', statement: /INSERT INTO index_tables/, moment: 'after' },
];

/** Worker at a fail point, where it stays until it is released. */
export interface HeldWorker {
  release(): void;
}

/**
 * Hold the process behind the interceptor at every arrival at `point`, one after the other.
 *
 * @param onAnswered registers a listener that is called when the upstream has answered that process
 * @returns a function that waits for the next arrival; it gives null if there is none within `withinMs`
 */
export function holdAt(
  point: FailPoint,
  interceptor: PostgresInterceptor,
  onAnswered: (listener: () => void) => void,
): (withinMs: number) => Promise<HeldWorker | null> {
  let arrived = Promise.withResolvers<HeldWorker>();
  let followedConnection: number | null = null;
  let isHeld = false;
  const arrive = (): Promise<void> | null => {
    if (isHeld) return null;
    isHeld = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    arrived.resolve({
      release: () => {
        isHeld = false;
        followedConnection = null;
        arrived = Promise.withResolvers<HeldWorker>();
        resolve();
      },
    });
    return promise;
  };
  const { statement } = point;
  if (statement !== null) {
    interceptor.listener = ({ text, rows, connection }, moment) => {
      if (point.follows?.test(text)) followedConnection = connection;
      if (point.follows !== undefined && followedConnection !== connection) return null;
      if (moment !== point.moment || !statement.test(text)) return null;
      // The claim found no job.
      if (moment === 'after' && rows === 0) return null;
      return arrive();
    };
  }
  if (point.isUpstream) onAnswered(() => void arrive());
  return async (withinMs) => {
    const timer = Promise.withResolvers<null>();
    const timeout = setTimeout(() => timer.resolve(null), withinMs);
    const held = await Promise.race([arrived.promise, timer.promise]);
    clearTimeout(timeout);
    return held;
  };
}
