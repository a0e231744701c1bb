import type { TaskType } from '../../../models/task-types.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { UpstreamFault } from '../../../platform/upstream/upstream-fault.ts';
import type { UpstreamHeaders, UpstreamReply, UpstreamRequest } from '../../../platform/upstream/upstream-message.ts';

export interface UpstreamCall {
  readonly upstreamModel: string;
  /** At least one and at most `caps.itemsMax` texts, with the prefix of their task type if the model has one. */
  readonly texts: readonly string[];
  readonly taskType: TaskType | null;
  /** Dimension to request, or null for the model's own. */
  readonly dimensions: number | null;
  /** Key, or an access token. */
  readonly apiKey: Secret | null;
  /** Dated API version; null for the undated one. */
  readonly apiVersion: string | null;
}

export interface ExpectedVectors {
  readonly count: number;
  readonly dimensions: number;
}

export interface ParsedVectors {
  /** Float32Array [count x dimensions], row-major, each row L2-normalised, in the order of the texts. */
  readonly vectors: Float32Array<ArrayBuffer>;
  /** Token count of the whole call reported by the vendor, or null. */
  readonly tokens: number | null;
}

export interface UpstreamCaps {
  readonly itemsMax: number;
  readonly tokensMax: number | null;
}

/** Stateless wire protocol of a vendor. It builds requests and parses answers. */
export interface Protocol {
  readonly caps: UpstreamCaps;
  /** Caps by model, if they differ between models. */
  readonly capsOf?: (upstreamModel: string) => UpstreamCaps;
  request(call: UpstreamCall): UpstreamRequest;
  /** @throws UpstreamFault of kind `transient` unless the response is exactly as requested */
  parse(reply: UpstreamReply, expected: ExpectedVectors): ParsedVectors;
  /** Classify a status other than 2xx. Remove the given key from the vendor's message. */
  faultOf(status: number, headers: UpstreamHeaders, body: Uint8Array, apiKey?: Secret | null): UpstreamFault;
  /** Request for the server's caps, if the protocol has one. */
  readonly discover?: {
    request(apiKey: Secret | null): UpstreamRequest;
    /** @throws UpstreamFault of kind `transient` */
    parse(reply: UpstreamReply): UpstreamCaps;
  };
}
