/** Message of a conversation with a chat model. System messages precede all others. */
export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly text: string;
}

export interface ChatTask {
  readonly messages: readonly ChatMessage[];
  readonly outputTokensMax: number;
}

/** Reason why a model stopped: finished, token limit reached, or answer declined. */
export type EndReason = 'stop' | 'length' | 'refusal';

/** Token counts as reported by the vendor; null if not reported. */
export interface ChatUsage {
  readonly input: number | null;
  readonly output: number | null;
}

/** Part of a streamed answer. The last part has kind `end`. */
export type ChatPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'end'; readonly reason: EndReason; readonly usage: ChatUsage };

export interface ChatModel {
  /** Vendor's name for the model. */
  readonly id: string;
  /**
   * Ask the model and yield the parts of its answer as they arrive. Failed calls are retried until the first part
   * arrives. Stopping the iteration cancels the call.
   *
   * @throws AppError `provider_unavailable` (502), even in mid-answer, `upstream_rejected` (400), `server_busy` (503);
   *   the reason of the signal once it is aborted
   */
  ask(task: ChatTask, signal: AbortSignal): AsyncGenerator<ChatPart, void>;
  close(): Promise<void>;
}
