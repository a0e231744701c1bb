import postgres from 'postgres';
import { answerWithin } from '../answer-within.ts';
import { SlotMap } from '../slot-map.ts';
import type { Connect } from './client.ts';

/** Time without an answer to a query after which to try a new connection, and the time limit for its answer. */
const SILENCE_MS = 8_000;
const CHECKS = 8;

interface Waiting {
  readonly sinceMs: number;
  /** Fail the waiting work with the error of a lost connection. */
  readonly lose: (error: Error) => void;
}

/**
 * Detects connections that were lost silently during a query. If a network drops packets, the kernel resends them for
 * about 15 minutes before it reports an error. After an outage of a minute, the next attempt is up to a minute away.
 * But a query may also just be slow. Therefore an unanswered query counts as lost only if a new connection to the
 * server gets no answer either.
 */
export class SilenceWatch {
  readonly #connect: Connect;
  readonly #silenceMs: number;
  readonly #waiting = new SlotMap<Waiting>();
  #timer: NodeJS.Timeout | null = null;
  #isProbing = false;
  #nextProbeMs = 0;

  constructor(connect: Connect, silenceMs = SILENCE_MS) {
    this.#connect = connect;
    this.#silenceMs = silenceMs;
  }

  /** Watch work that waits for the server's answer. Return a function that stops watching. */
  track(lose: (error: Error) => void): () => void {
    let id: number | null = this.#waiting.add({ sinceMs: performance.now(), lose });
    this.#timer ??= setInterval(() => void this.#check(), this.#silenceMs / CHECKS).unref();
    return () => {
      if (id !== null) this.#waiting.delete(id);
      id = null; // the id may be reused
    };
  }

  async #check(): Promise<void> {
    if (this.#waiting.size === 0) {
      clearInterval(this.#timer ?? undefined);
      this.#timer = null;
      return;
    }
    const beganMs = performance.now();
    let oldestMs = beganMs;
    for (const { sinceMs } of this.#waiting) oldestMs = Math.min(oldestMs, sinceMs);
    if (this.#isProbing || beganMs < this.#nextProbeMs || beganMs - oldestMs < this.#silenceMs) return;
    this.#isProbing = true;
    const error = await probe(this.#connect, this.#silenceMs).then(() => null, noAnswerOf);
    this.#isProbing = false;
    this.#nextProbeMs = performance.now() + this.#silenceMs;
    if (error === null) return;
    // Later ones may have been sent on a newer connection.
    for (const waiting of [...this.#waiting]) if (waiting.sinceMs < beganMs) waiting.lose(error);
  }
}

/** Ask the server for a constant on a separate connection. */
async function probe(connect: Connect, withinMs: number): Promise<void> {
  const client = connect({});
  try {
    await answerWithin(withinMs, client`select 1`);
  } finally {
    await client.end({ timeout: 0 });
  }
}

/** Return the error of a lost connection; null if the server answered, even with a refusal. */
function noAnswerOf(error: unknown): Error | null {
  if (error instanceof postgres.PostgresError) return null;
  return Object.assign(new Error('the database does not answer', { cause: error }), { code: 'ETIMEDOUT' });
}
