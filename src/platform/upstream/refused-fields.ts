import type { Secret } from '../secret.ts';
import type { UpstreamFault } from './upstream-fault.ts';
import type { UpstreamHeaders } from './upstream-message.ts';
import { readVendorError } from './vendor-message.ts';

/** Error for an optional field that a model doesn't accept. The call is repeated without the field. */
export class RefusedFieldError extends Error {
  readonly field: string;

  constructor(field: string) {
    super(`the model does not accept ${field}`);
    this.field = field;
  }
}

/** Part of a protocol that interprets failures. */
interface RefusingProtocol {
  /** Optional request fields that some models of this protocol don't accept. */
  readonly optionalFields: readonly string[];
  faultOf(status: number, headers: UpstreamHeaders, body: Uint8Array, apiKey: Secret | null): UpstreamFault;
}

/**
 * Create the error for an unsuccessful response: a `RefusedFieldError` if the vendor names an optional field of the
 * request, otherwise the protocol's fault.
 *
 * @param omitted optional fields that the request omitted
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
