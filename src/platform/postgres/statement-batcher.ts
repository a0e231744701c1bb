import pLimit from 'p-limit';
import { AppError } from '../errors.ts';
import { mapPostgresError } from './errors.ts';

/** Default of `max`. */
const BATCH_MAX = 64;
/** Statements of single calls that run at a time, after one that they shared has failed. */
const SINGLE_MAX = 4;
/** Errors after which PostgreSQL has undone the statement, and a single call may succeed. */
const MAY_BE_OF_ONE_CALL = new Set(['postgres_contention', 'query_timeout']);

interface Waiting<Call, Result> {
  readonly call: Call;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Does what is asked for at the same time by one statement: it costs one round trip and one commit, however many rows it
 * writes. While a statement is in progress, calls wait for the next one, so that a lone call waits for nothing, and the
 * more calls there are, the more of them share a statement.
 */
export class StatementBatcher<Call, Result> {
  readonly #run: (calls: readonly Call[]) => Promise<readonly Result[]>;
  readonly #max: number;
  readonly #waiting: Waiting<Call, Result>[] = [];
  readonly #singly = pLimit(SINGLE_MAX);
  #isRunning = false;

  /**
   * @param run runs the statement, and returns one result for each call in their order. It is run again with single calls
   *   if it failed, so it must do all or nothing.
   * @param options.max calls of one statement
   */
  constructor(
    run: (calls: readonly Call[]) => Promise<readonly Result[]>,
    { max = BATCH_MAX }: { readonly max?: number } = {},
  ) {
    this.#run = run;
    this.#max = max;
  }

  /** @throws what the statement throws for this call */
  call(call: Call): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, resolve, reject });
      if (this.#isRunning) return;
      this.#isRunning = true;
      // Calls that become possible by the same event come before this.
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
      // What PostgreSQL refuses of one call, or what takes one too long, must not fail the others, nor delay the next ones.
      else for (const each of batch) void this.#singly(() => this.#runAll([each]));
    }
  }
}

/** Return true if the database is to blame, so that single calls would fail as well, or if the statement may have been done. */
function isUnavailable(error: unknown): boolean {
  const known = mapPostgresError(error);
  return known instanceof AppError && known.retryable && !MAY_BE_OF_ONE_CALL.has(known.code);
}
