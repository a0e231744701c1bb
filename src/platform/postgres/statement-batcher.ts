import pLimit from 'p-limit';
import { AppError } from '../errors.ts';
import { mapPostgresError } from './errors.ts';

const BATCH_MAX = 64;
/** Maximum number of concurrent single calls after a shared statement has failed. */
const SINGLE_MAX = 4;
/** Errors after which PostgreSQL has rolled the statement back, and a single call may succeed. */
const MAY_BE_OF_ONE_CALL = new Set(['postgres_contention', 'query_timeout']);

interface Waiting<Call, Result> {
  readonly call: Call;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Combines concurrent calls into one statement: one round trip and one commit, however many rows it writes. While a
 * statement is in progress, calls wait for the next one. A single call never waits, and the more calls there are, the
 * more of them share a statement.
 */
export class StatementBatcher<Call, Result> {
  readonly #run: (calls: readonly Call[]) => Promise<readonly Result[]>;
  readonly #max: number;
  readonly #waiting: Waiting<Call, Result>[] = [];
  readonly #singly = pLimit(SINGLE_MAX);
  #isRunning = false;

  /**
   * @param run runs the statement, and returns one result for each call in order. If it fails, it is run again with
   *   single calls, so it must be atomic.
   * @param options.max maximum number of calls per statement
   */
  constructor(
    run: (calls: readonly Call[]) => Promise<readonly Result[]>,
    { max = BATCH_MAX }: { readonly max?: number } = {},
  ) {
    this.#run = run;
    this.#max = max;
  }

  /** @throws the statement's error for this call */
  call(call: Call): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, resolve, reject });
      if (this.#isRunning) return;
      this.#isRunning = true;
      // Other calls triggered by the same event arrive before this runs.
      setImmediate(() => this.#drain());
    });
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) await this.#runAll(this.#waiting.splice(0, this.#max));
    this.#isRunning = false;
  }

  async #runAll(batch: readonly Waiting<Call, Result>[]): Promise<void> {
    try {
      const results = await this.#run(batch.map(({ call }) => call));
      for (const [nth, { resolve }] of batch.entries()) resolve(results[nth] as Result);
    } catch (error) {
      if (batch.length === 1 || isUnavailable(error)) for (const { reject } of batch) reject(error);
      // If PostgreSQL refuses one call, or one takes too long, the others must not fail and later ones must not wait.
      else for (const each of batch) void this.#singly(() => this.#runAll([each]));
    }
  }
}

/** Return true if the database would fail single calls too, or if the statement may have been committed. */
function isUnavailable(error: unknown): boolean {
  const known = mapPostgresError(error);
  return known instanceof AppError && known.retryable && !MAY_BE_OF_ONE_CALL.has(known.code);
}
