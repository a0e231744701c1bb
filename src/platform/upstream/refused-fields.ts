import type { Secret } from '../secret.ts';
import type { UpstreamFault } from './upstream-fault.ts';
import type { UpstreamHeaders } from './upstream-message.ts';
import { readVendorError } from './vendor-message.ts';

/** Error of an optional field that a model does not accept. The call is repeated without it. */
export class RefusedFieldError extends Error {
  readonly field: string;

  constructor(field: string) {
    super(`the model does not accept ${field}`);
    this.field = field;
  }
}

/** Part of a protocol that reads failures. */
interface RefusingProtocol {
  /** Optional fields of requests that some models of this protocol do not accept. */
  readonly optionalFields: readonly string[];
  faultOf(status: number, headers: UpstreamHeaders, body: Uint8Array, apiKey: Secret | null): UpstreamFault;
}

/**
 * Create the error of a reply that is no success: a `RefusedFieldError` if the vendor names an optional field that the
 * request had, otherwise the fault of the protocol.
 *
 * @param omitted optional fields that the request was sent without
 */
export function refusalOf(
  protocol: RefusingProtocol,
  reply: { readonly status: number; readonly headers: UpstreamHeaders; readonly body: Uint8Array },
  apiKey: Secret | null,
  omitted: ReadonlySet<string>,
): RefusedFieldError | UpstreamFault {
  const { status, headers, body } = reply;
  const { param } = readVendorError(body, apiKey);
  const isOptional = param !== null && protocol.optionalFields.includes(param);
  if (status === 400 && isOptional && !omitted.has(param)) return new RefusedFieldError(param);
  return protocol.faultOf(status, headers, body, apiKey);
}
