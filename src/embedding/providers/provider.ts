import type { Model } from '../../models/catalog.ts';
import type { TaskType } from '../../models/task-types.ts';

/** Wire protocols that we support; an adapter is chosen by protocol, never by a vendor's name. */
export const PROTOCOLS = ['openai', 'gemini', 'voyage', 'jina', 'cohere', 'tei', 'ollama'] as const;
export type ProtocolName = (typeof PROTOCOLS)[number];

export interface ProviderCall {
  readonly model: Model;
  /** At least one text, with the prefix of the task type if the model has one. */
  readonly texts: readonly string[];
  /** Our own token count of each text. Calls are split by it, and the vendor's total is distributed by it. */
  readonly counts: readonly number[];
  /**
   * Counts the tokens of texts exactly. If it is given, `counts` are upper bounds that cost nothing: calls are split by
   * them where that makes no further calls, and the tokens of the reply add up to the vendor's own total.
   */
  readonly countExactly?: ((texts: readonly string[]) => readonly number[] | Promise<readonly number[]>) | undefined;
  readonly taskType: TaskType | null;
  /** Send it only while no other call waits, and leave one of the concurrent calls free. */
  readonly isBackground?: boolean;
  /** The call is part of a job that nobody waits for. */
  readonly isBulk?: boolean;
  /** Aborts the call, and the upstream calls that no other call needs. */
  readonly signal: AbortSignal;
}

export interface ProviderReply {
  /** Float32Array [n x model.nativeDimension], row-major, each row L2-normalised, in the order of the texts. */
  readonly vectors: Float32Array;
  /** Tokens of each text: our own count if it is exact, else the vendor's total distributed by our counts. */
  readonly tokens: readonly number[];
}

/** Replace the upper bounds of a call by exact counts. @throws what `countExactly` throws */
export async function withExactCounts(call: ProviderCall): Promise<ProviderCall> {
  const { countExactly, texts } = call;
  if (countExactly === undefined) return call;
  return { ...call, counts: await countExactly(texts), countExactly: undefined };
}

/** Vendor that turns any number of texts into native vectors, within its caps and limits. */
export interface Provider {
  readonly name: string;
  /**
   * @throws AppError `provider_unavailable` (502): after all retries the vendor was not reached, refused our
   *   credentials, was overloaded or sent an invalid answer; another provider may succeed. `upstream_rejected` (400):
   *   the vendor refused the input itself. The signal's reason once it is aborted.
   */
  embed(call: ProviderCall): Promise<ProviderReply>;
  close(): Promise<void>;
}
