import type { Model } from '../../models/catalog.ts';
import type { TaskType } from '../../models/task-types.ts';

/** The wire protocols we speak; an adapter is chosen by protocol, never by a vendor's name. */
export const PROTOCOLS = ['openai', 'gemini', 'voyage', 'jina', 'cohere', 'tei', 'ollama'] as const;
export type ProtocolName = (typeof PROTOCOLS)[number];

export interface ProviderCall {
  readonly model: Model;
  /** At least one; already prefixed where the model wants it. */
  readonly texts: readonly string[];
  /** Our own token count of each text, by which calls are split and the vendor's total is shared out. */
  readonly counts: readonly number[];
  readonly taskType: TaskType | null;
  /** Once aborted nobody waits any more; what only this call needed of the vendor is cut off. */
  readonly signal: AbortSignal;
}

export interface ProviderReply {
  /** Float32Array [n x model.nativeDimension], row-major, each row L2-normalised, in the order of the texts. */
  readonly vectors: Float32Array;
  /** Tokens of each text: our own count where it is exact, else the vendor's total shared out by our counts. */
  readonly tokens: readonly number[];
}

/** One vendor: any number of texts in, native vectors out, whatever its caps, limits and moods. */
export interface Provider {
  readonly name: string;
  /**
   * @throws AppError `provider_unavailable` (502): not reached, refused our credentials, overloaded or answered
   *   nonsense, retries included; another provider may do better. `upstream_rejected` (400): the vendor says that
   *   the input itself is at fault. The signal's reason once it is aborted.
   */
  embed(call: ProviderCall): Promise<ProviderReply>;
  close(): Promise<void>;
}
