/**
 * Kind of a fault. `transient`: a retry may succeed. `rejected`: the input is at fault. `refused`: our credential or
 * account is at fault; the endpoint cools down. `unavailable`: this provider can't serve the call, and retries are
 * useless.
 */
export type FaultKind = 'transient' | 'rejected' | 'refused' | 'unavailable';

export interface FaultFields {
  readonly kind: FaultKind;
  /** HTTP status; null if the status was a success but the body was unusable. */
  readonly status?: number | null;
  /** Vendor's code, or our own for an unusable body. */
  readonly code?: string | null;
  /** Delay that the vendor asks for. */
  readonly retryAfterMs?: number | null;
  /** Short message that is safe to show: it contains no credential or caller text. */
  readonly message: string;
  /** True if nothing of the request was sent, because there was no connection. */
  readonly isUnsent?: boolean;
}

/** Failure of a call to an upstream. Recognise it by `kind`, and in more detail by `status` and `code`. */
export class UpstreamFault extends Error {
  override readonly name = 'UpstreamFault';
  readonly kind: FaultKind;
  readonly status: number | null;
  readonly code: string | null;
  readonly retryAfterMs: number | null;
  /** True if nothing of the request was sent, so that the vendor cannot have acted on it. */
  readonly isUnsent: boolean;

  constructor(fields: FaultFields) {
    super(fields.message);
    this.kind = fields.kind;
    this.status = fields.status ?? null;
    this.code = fields.code ?? null;
    this.retryAfterMs = fields.retryAfterMs ?? null;
    this.isUnsent = fields.isUnsent ?? false;
  }
}
