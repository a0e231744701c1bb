import type { TaskType } from '../../../models/task-types.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { UpstreamFault } from '../../../platform/upstream/upstream-fault.ts';
import type { UpstreamHeaders, UpstreamReply, UpstreamRequest } from '../../../platform/upstream/upstream-message.ts';

export interface UpstreamCall {
  readonly upstreamModel: string;
  /** At least one and at most `caps.itemsMax`; already prefixed where the model wants it. */
  readonly texts: readonly string[];
  readonly taskType: TaskType | null;
  /** Dimension to ask for; null: the model's own. */
  readonly dimensions: number | null;
  readonly apiKey: Secret | null;
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
