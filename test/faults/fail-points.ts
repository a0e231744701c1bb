import type { PostgresWiretap, TapMoment } from '../support/postgres-wiretap.ts';

/** A place in a job's work at which its worker can be stopped; found from outside, without hooks in the product. */
export interface FailPoint {
  readonly name: string;
  /** The statement at which the worker is held up; null: anywhere, after a while. */
  readonly statement: RegExp | null;
  readonly moment: TapMoment;
  /** Only behind a statement that this matches, on the same connection. */
  readonly behind?: RegExp;
  /** A reply of the upstream instead of a statement. */
  readonly isUpstream?: boolean;
}

const CLAIM = /nextval\('document_generations'\)/;
const TERMINAL = /UPDATE jobs SET status = 'ready'/;
const COMMIT = /^commit/i;

const COMMON: readonly FailPoint[] = [
  { name: 'anywhere', statement: null, moment: 'before' },
  { name: 'after the claim', statement: CLAIM, moment: 'after' },
  { name: 'after the upstream reply', statement: null, moment: 'after', isUpstream: true },
  { name: 'before the terminal update', statement: TERMINAL, moment: 'before' },
  { name: 'before its commit', statement: COMMIT, moment: 'before', behind: TERMINAL },
  { name: 'after its commit', statement: COMMIT, moment: 'after', behind: TERMINAL },
];

export const BULK_POINTS: readonly FailPoint[] = [
  ...COMMON,
  { name: 'chunk stored, not recorded', statement: /INSERT INTO bulk_chunks/, moment: 'before' },
  { name: 'chunk recorded', statement: /INSERT INTO bulk_chunks/, moment: 'after' },
];

/** With the lock on the bucket's index held. */
export const LOCK_POINT: FailPoint = {
  name: 'before the index commit',
  statement: /select pg_backend_pid\(\) =/,
  moment: 'after',
};

export const INGEST_POINTS: readonly FailPoint[] = [
  ...COMMON,
  { name: 'generation registered', statement: /INSERT INTO generations/, moment: 'after' },
  LOCK_POINT,
  { name: 'after the index commit', statement: /INSERT INTO index_tables/, moment: 'before' },
  { name: 'index version published', statement: /INSERT INTO index_tables/, moment: 'after' },
];

/** Somebody's worker at a fail point: it goes no further until it is let go. */
export interface HeldJob {
  letGo(): void;
}

/**
 * Hold the process behind the tap at every arrival at `point`, one after the other.
 *
 * @param onAnswered has the listener called when the upstream has answered that process
 * @returns a function that waits for the next arrival, null where there is none within `withinMs`
 */
export function holdAt(
  point: FailPoint,
  tap: PostgresWiretap,
  onAnswered: (listener: () => void) => void,
): (withinMs: number) => Promise<HeldJob | null> {
  let arrived = Promise.withResolvers<HeldJob>();
  let behind: number | null = null;
  let isHeld = false;
  const arrive = (): Promise<void> | null => {
    if (isHeld) return null;
    isHeld = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    arrived.resolve({
      letGo: () => {
        isHeld = false;
        behind = null;
        arrived = Promise.withResolvers<HeldJob>();
        resolve();
      },
    });
    return promise;
  };
  const { statement } = point;
  if (statement !== null) {
    tap.listener = ({ text, rows, connection }, moment) => {
      if (point.behind?.test(text)) behind = connection;
      if (point.behind !== undefined && behind !== connection) return null;
      if (moment !== point.moment || !statement.test(text)) return null;
      // A claim that found nothing.
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
