import { AppError } from '../../platform/errors.ts';

/**
 * OAuth error codes: RFC 6749 (sections 4.1.2.1 and 5.2), RFC 7591 (section 3.2.2), RFC 8707 (section 2) and RFC 7009
 * (section 2.2.1).
 */
const CODES = [
  'access_denied',
  'invalid_client',
  'invalid_client_metadata',
  'invalid_grant',
  'invalid_redirect_uri',
  'invalid_request',
  'invalid_scope',
  'invalid_target',
  'server_error',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_response_type',
] as const;
export type OAuthErrorCode = (typeof CODES)[number];

const STATUS: Partial<Record<OAuthErrorCode, number>> = { invalid_client: 401, temporarily_unavailable: 503 };

/** Create an error with an OAuth code. @param message one sentence for a person */
export function oauthError(code: OAuthErrorCode, message: string): AppError {
  return new AppError({ code, status: STATUS[code] ?? 400, message });
}

/** Return the OAuth code for any error. */
export function oauthCodeOf({ code, status }: AppError): OAuthErrorCode {
  const known = CODES.find((one) => one === code);
  if (known !== undefined) return known;
  if (status === 429 || status === 503) return 'temporarily_unavailable';
  return status >= 500 ? 'server_error' : 'invalid_request';
}
