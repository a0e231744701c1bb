import type { TaskType } from '../../../models/task-types.ts';
import type { Secret } from '../../../platform/secret.ts';

export interface UpstreamRequest {
  readonly method: 'POST' | 'GET';
  /** Appended to the endpoint's base URL. */
  readonly path: string;
  /** Lower case, without content type and length; includes the credential. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface UpstreamCall {
  readonly upstreamModel: string;
  /** At least one and at most `caps.itemsMax`; already prefixed where the model wants it. */
  readonly texts: readonly string[];
  readonly taskType: TaskType | null;
  /** Dimension to ask for; null: the model's own. */
  readonly dimensions: number | null;
  readonly apiKey: Secret | null;
}

export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface UpstreamReply {
  /** Names in lower case. */
  readonly headers: UpstreamHeaders;
  readonly body: Uint8Array;
}

export interface ExpectedVectors {
  readonly count: number;
  readonly dimensions: number;
}

export interface ParsedVectors {
  /** Float32Array [count x dimensions], row-major, each row L2-normalised, in the order of the texts. */
  readonly vectors: Float32Array<ArrayBuffer>;
  /** What the vendor says that the whole call cost; null where it does not say. */
  readonly tokens: number | null;
}

export interface UpstreamCaps {
  readonly itemsMax: number;
  readonly tokensMax: number | null;
}

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

/** One wire protocol, without any state: what to send, and what an answer means. */
export interface Protocol {
  readonly caps: UpstreamCaps;
  request(call: UpstreamCall): UpstreamRequest;
  /** @throws UpstreamFault of kind `transient` for anything that is not exactly what was asked for */
  parse(reply: UpstreamReply, expected: ExpectedVectors): ParsedVectors;
  /** What a status other than 2xx means. The key that was sent is blotted out of the vendor's message, if given. */
  faultOf(status: number, headers: UpstreamHeaders, body: Uint8Array, apiKey?: Secret | null): UpstreamFault;
  /** Caps told by the server itself, where the protocol can ask. */
  readonly discover?: {
    request(apiKey: Secret | null): UpstreamRequest;
    /** @throws UpstreamFault of kind `transient` */
    parse(reply: UpstreamReply): UpstreamCaps;
  };
}
