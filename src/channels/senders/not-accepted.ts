/**
 * Kind of failure. `rejected`: the vendor refuses this message. `refused`: it refuses the credentials or the account.
 * `busy`: it didn't accept the message, but may accept it later. `unknown`: it may have accepted the message.
 */
export type NotAcceptedKind = 'rejected' | 'refused' | 'busy' | 'unknown';

/** Error of a notification that the vendor didn't accept, or of a lookup about one. */
export class NotAccepted extends Error {
  override readonly name = 'NotAccepted';
  /** Short cause: `connection`, `timeout`, `http_422`, `invalid_answer`, or the vendor's code and message. */
  readonly reason: string;
  readonly kind: NotAcceptedKind;
  /** Wait requested by the vendor. */
  readonly retryAfterMs: number | null;

  constructor(kind: NotAcceptedKind, reason: string, more: { cause?: unknown; retryAfterMs?: number | null } = {}) {
    super(`not accepted: ${reason}`, { cause: more.cause });
    this.kind = kind;
    this.reason = reason;
    this.retryAfterMs = more.retryAfterMs ?? null;
  }

  /** True if the vendor may still have sent the notification. */
  get isUncertain(): boolean {
    return this.kind === 'unknown';
  }
}
