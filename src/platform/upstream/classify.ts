import type { Secret } from '../secret.ts';
import { header, retryAfterMs } from './retry-after.ts';
import { type FaultKind, UpstreamFault } from './upstream-fault.ts';
import type { UpstreamHeaders } from './upstream-message.ts';
import { readVendorError, type VendorError } from './vendor-message.ts';

/** Protocol-specific exception to the common classification; null if the common one applies. */
export type Refine = (status: number, error: VendorError) => FaultKind | null;

/** AWS header with the type of an error: `ThrottlingException:http://…`. */
const AWS_ERROR_TYPE = 'x-amzn-errortype';

/** Statuses with the same meaning for all vendors. Any other status is `unavailable`. */
const TRANSIENT = new Set([408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529]);
const REFUSED = new Set([401, 402, 403]);
const REJECTED = new Set([400, 413, 422]);

/** Codes that take precedence over the status. */
const ACCOUNT_CODES = new Set([
  'insufficient_quota',
  'billing_hard_limit_reached',
  'billing_not_active',
  'invalid_api_key',
  'API_KEY_INVALID',
  'API_KEY_EXPIRED',
  'AUTHZ_INSUFFICIENT_BALANCE',
]);
const NO_MODEL_CODES = new Set(['model_not_found', 'INPUT_MODEL_NOT_FOUND', 'OperationNotSupported', 'invalid_model']);
/** Request fields that come from our settings, so a 400 about one of them isn't caused by the caller's texts. */
const OUR_PARAMS = new Set(['model', 'dimensions', 'encoding_format']);

/** Create a function that classifies responses with a status other than 2xx. */
export function faultsOf(refine: Refine = () => null) {
  return (status: number, headers: UpstreamHeaders, body: Uint8Array, apiKey: Secret | null = null): UpstreamFault => {
    const read = readVendorError(body, apiKey);
    const type = header(headers, AWS_ERROR_TYPE)?.split(':', 1) ?? [];
    const error = { ...read, codes: [...type, ...read.codes] };
    return new UpstreamFault({
      kind: refine(status, error) ?? kindOf(status, error),
      status,
      code: shownCode(error.codes, apiKey),
      retryAfterMs: retryAfterMs(headers, error.error),
      message: error.message === null ? `HTTP ${status}` : `HTTP ${status}: ${error.message}`,
    });
  };
}

function kindOf(status: number, error: VendorError): FaultKind {
  if (status >= 400 && status < 500) {
    if (error.codes.some((code) => NO_MODEL_CODES.has(code))) return 'unavailable';
    if (error.codes.some((code) => ACCOUNT_CODES.has(code))) return 'refused';
  }
  if (TRANSIENT.has(status)) return 'transient';
  if (REFUSED.has(status)) return 'refused';
  if (REJECTED.has(status)) return error.param !== null && OUR_PARAMS.has(error.param) ? 'unavailable' : 'rejected';
  return 'unavailable';
}

/** Find the vendor's first code that looks like an identifier and doesn't contain the credential. */
function shownCode(codes: readonly string[], apiKey: Secret | null): string | null {
  const isSafe = (code: string) => apiKey === null || !code.includes(apiKey.reveal());
  return codes.find((code) => /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/.test(code) && isSafe(code)) ?? null;
}
