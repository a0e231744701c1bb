import type { Model } from '../../models/catalog.ts';
import type { TaskType } from '../../models/task-types.ts';

export { PROTOCOLS, type ProtocolName } from '../../platform/vendor-fields.ts';

export interface ProviderCall {
  readonly model: Model;
  /** At least one text, with the prefix of the task type if the model has one. */
  readonly texts: readonly string[];
  /** Our token count of each text, for splitting calls and distributing the vendor's total. */
  readonly counts: readonly number[];
  /**
   * Counts the tokens of texts exactly. If present, `counts` are cheap upper bounds. Calls are split by them if that
   * causes no extra calls, and the tokens of the reply add up to the vendor's total.
   */
  readonly countExactly?: ((texts: readonly string[]) => readonly number[] | Promise<readonly number[]>) | undefined;
  readonly taskType: TaskType | null;
  /** Send the call only while no other call waits, and leave one of the concurrent calls free. */
  readonly isBackground?: boolean;
  /** True if the call belongs to a job, so that no client is waiting. */
  readonly isBulk?: boolean;
  /** Aborts the call, and the upstream calls that no other call needs. */
  readonly signal: AbortSignal;
}

export interface ProviderReply {
  /** Float32Array [n x model.nativeDimension], row-major, each row L2-normalised, in the order of the texts. */
  readonly vectors: Float32Array;
  /** Tokens of each text: our own count if exact, else its share of the vendor's total. */
  readonly tokens: readonly number[];
}

/** Replace the upper bounds of a call by exact counts. @throws what `countExactly` throws */
export async function withExactCounts(call: ProviderCall): Promise<ProviderCall> {
  const { countExactly, texts } = call;
  if (countExactly === undefined) return call;
  return { ...call, counts: await countExactly(texts), countExactly: undefined };
}

/** Vendor that embeds any number of texts into native vectors, within its caps and limits. */
export interface Provider {
  readonly name: string;
  /**
   * @throws AppError `provider_unavailable` (502): after all retries the vendor was unreachable, refused our
   *   credentials, was overloaded or sent an invalid answer; another provider may succeed. `upstream_rejected` (400):
   *   the vendor refused the input itself. The signal's reason once it is aborted.
   */
  embed(call: ProviderCall): Promise<ProviderReply>;
  /** Return true while calls are refused after repeated failures. A provider without this method never refuses. */
  isBlocked?(): boolean;
  close(): Promise<void>;
}
