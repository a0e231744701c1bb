/**
 * `transient`: worth another try. `rejected`: the input itself is at fault. `refused`: our credential or account is;
 * the key rests for a while. `unavailable`: this provider cannot serve the call, however often it is asked.
 */
export type FaultKind = 'transient' | 'rejected' | 'refused' | 'unavailable';

export interface FaultFields {
  readonly kind: FaultKind;
  /** HTTP status; null where the status was fine and the body was not. */
  readonly status?: number | null;
  /** The vendor's own code, or ours for a body that is not what was asked for. */
  readonly code?: string | null;
  /** How long the vendor asks us to wait. */
  readonly retryAfterMs?: number | null;
  /** Short and safe: no credential, no text of the caller's. */
  readonly message: string;
}

/** Why an upstream did not give what was asked for. Recognise it by `kind`, and finer by `status` and `code`. */
export class UpstreamFault extends Error {
  override readonly name = 'UpstreamFault';
  readonly kind: FaultKind;
  readonly status: number | null;
  readonly code: string | null;
  readonly retryAfterMs: number | null;

  constructor(fields: FaultFields) {
    super(fields.message);
    this.kind = fields.kind;
    this.status = fields.status ?? null;
    this.code = fields.code ?? null;
    this.retryAfterMs = fields.retryAfterMs ?? null;
  }
}
