/** Message of a conversation with a chat model. A system message precedes all others. */
export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly text: string;
}

export interface ChatTask {
  readonly messages: readonly ChatMessage[];
  readonly outputTokensMax: number;
}

/** Reason why a model stopped: it was done, it reached the limit of tokens, or it declined to answer. */
export type EndReason = 'stop' | 'length' | 'refusal';

/** Tokens that the vendor counted; null if it reported none. */
export interface ChatUsage {
  readonly input: number | null;
  readonly output: number | null;
}

/** Part of an answer while it is written. The last part is its end. */
export type ChatPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'end'; readonly reason: EndReason; readonly usage: ChatUsage };

export interface ChatModel {
  /** Name of the model at its vendor. */
  readonly id: string;
  /**
   * Ask the model, and return the parts of its answer as they arrive. Failed calls are repeated until the first part
   * has arrived. A caller that stops reading ends the call.
   *
   * @throws AppError `provider_unavailable` (502), also in the middle of an answer, `upstream_rejected` (400),
   *   `server_busy` (503); the signal's reason once it is aborted
   */
  ask(task: ChatTask, signal: AbortSignal): AsyncGenerator<ChatPart, void>;
  close(): Promise<void>;
}
