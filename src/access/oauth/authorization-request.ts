import { oauthError } from './oauth-error.ts';
import { type OAuthScope, parseScopes } from './scopes.ts';

/** Parameters of an authorization request (RFC 6749, section 4.1.1; RFC 7636; RFC 8707), parsed but not validated. */
export interface AuthorizationRequest {
  readonly clientId: string;
  readonly redirectUri: string | null;
  readonly responseType: string | null;
  readonly state: string | null;
  readonly scopes: readonly OAuthScope[];
  readonly challenge: string | null;
  readonly challengeMethod: string | null;
  readonly resource: string | null;
}

export const QUERY_CHARS_MAX = 16_000;

const NAMES = [
  'client_id',
  'redirect_uri',
  'response_type',
  'state',
  'scope',
  'code_challenge',
  'code_challenge_method',
  'resource',
] as const;

/**
 * Parse the query of an authorization request.
 *
 * @throws AppError `invalid_request` (400) for a repeated parameter or a missing client id
 */
export function parseAuthorizationRequest(query: string): AuthorizationRequest {
  const parameters = new URLSearchParams(query);
  const repeated = NAMES.find((name) => parameters.getAll(name).length > 1);
  if (repeated !== undefined) throw oauthError('invalid_request', `the parameter ${repeated} is given more than once`);
  const clientId = parameters.get('client_id');
  if (!clientId) throw oauthError('invalid_request', 'the parameter client_id is missing');
  return {
    clientId,
    redirectUri: parameters.get('redirect_uri'),
    responseType: parameters.get('response_type'),
    state: parameters.get('state'),
    scopes: parseScopes(parameters.get('scope') ?? undefined),
    challenge: parameters.get('code_challenge'),
    challengeMethod: parameters.get('code_challenge_method'),
    resource: parameters.get('resource'),
  };
}

/** SHA-256 in base64url. */
const CHALLENGE = /^[\w-]{43}$/;

/**
 * Validate the parameters that the client controls: the flow, and PKCE with S256 (RFC 7636). Faults are reported to the
 * client.
 *
 * @throws AppError `unsupported_response_type`, `invalid_request` (400)
 */
export function checkFlow({ responseType, challenge, challengeMethod }: AuthorizationRequest): string {
  if (responseType !== 'code') {
    throw oauthError('unsupported_response_type', 'the parameter response_type must be code');
  }
  if (challenge === null) {
    throw oauthError('invalid_request', 'the parameter code_challenge is missing: clients must use PKCE (RFC 7636)');
  }
  if (challengeMethod !== 'S256') {
    throw oauthError('invalid_request', 'the parameter code_challenge_method must be S256');
  }
  if (!CHALLENGE.test(challenge)) {
    throw oauthError('invalid_request', 'the parameter code_challenge must be a SHA-256 in base64url');
  }
  return challenge;
}

/**
 * Find the tool server that a request names, or the only one if it names none.
 * @throws AppError `invalid_target` (400)
 */
export function chooseResource(requested: string | null, resources: readonly string[]): string {
  const [only] = resources;
  if (requested === null && resources.length === 1 && only !== undefined) return only;
  const found = resources.find((resource) => requested !== null && isSameResource(resource, requested));
  if (found !== undefined) return found;
  throw oauthError(
    'invalid_target',
    'the parameter resource must be the address of a tool server of this installation (setting tool_server.urls)',
  );
}

/** Compare resource URLs, ignoring the case of scheme and host, and a trailing slash. */
export function isSameResource(one: string, other: string): boolean {
  if (!URL.canParse(one) || !URL.canParse(other)) return false;
  const plain = (text: string) => new URL(text).href.replace(/\/$/, '');
  return plain(one) === plain(other);
}
