import { createHash, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../platform/errors.ts';
import { FairGate } from '../../platform/fair-gate.ts';
import { RefusalBrake } from '../../platform/refusal-brake.ts';
import { Secret } from '../../platform/secret.ts';
import type { ToolServerAuth } from '../../platform/tool-server-settings.ts';
import type { CallerCheck } from '../caller-check.ts';

/** Client of the HTTP server. */
export interface Principal {
  /** Owner of sessions and results: the SHA-256 of the bearer token, or of the client and its user. */
  readonly id: string;
  /** Organization whose share of the server it uses. Clients with a shared token share everything. */
  readonly orgId: string;
  /** Credential to send to the API. */
  readonly credential: Secret;
  /** Rights granted to the client by a person; null if only the API decides. */
  readonly scopes: readonly string[] | null;
}

/**
 * @param address address of the client, for counting unknown bearers
 * @throws AppError `bearer_missing`, `bearer_invalid` (401), `too_many_failed_logins` (429), `api_unreachable`,
 *   `server_busy` (503)
 */
export type Authenticate = (
  authorization: string | undefined,
  address: string,
  signal: () => AbortSignal,
) => Promise<Principal>;

/** Right that every client needs. */
const BASIC_SCOPE = 'search';
const BEARER_CHARS_MAX = 8192;
/** Owner of everything if all clients share one token. */
const EVERYBODY = 'everybody';

/** Limits on the checks of unknown bearers, by address. The API delays its answers to wrong ones. */
const CHECKS = { runningMax: 8, runningOfOneMax: 2, waitingOfOneMax: 20 };
/** Number of wrong bearers per address that are refused immediately. Further refusals are delayed by a second. */
const REFUSALS = { burst: 60, perSecond: 1 };

/**
 * Create the authentication of clients for the server's mode.
 * @param resource returns this tool server's address, which must be the audience of access tokens
 */
export function openAuthentication(auth: ToolServerAuth, callers: CallerCheck, resource: () => string): Authenticate {
  const checks = new FairGate(CHECKS);
  const refusals = new RefusalBrake(REFUSALS);
  const refused = async (error: AppError, address: string, signal: () => AbortSignal) => {
    if (!(await refusals.brake([address], signal))) throw tooManyRefusals();
    throw error;
  };
  switch (auth.mode) {
    case 'unauthenticated': {
      const everybody = { id: 'anonymous', orgId: EVERYBODY, credential: auth.apiKey, scopes: null };
      return async () => everybody;
    }
    case 'static': {
      const expected = digest(auth.token.reveal());
      return async (authorization, address, signal) => {
        const presented = digest(readBearer(authorization));
        if (!timingSafeEqual(presented, expected)) {
          await refused(bearerInvalid('the bearer token is wrong'), address, signal);
        }
        return { id: presented.toString('hex'), orgId: EVERYBODY, credential: auth.apiKey, scopes: null };
      };
    }
    case 'oauth':
    case 'upstream-bearer':
      return async (authorization, address, signal) => {
        const bearer = readBearer(authorization);
        const credential = new Secret(bearer);
        const check = async () => {
          try {
            return await callers.requireKnown(credential);
          } catch (error) {
            if (!(error instanceof AppError) || error.code !== 'api_refused' || error.status !== 401) throw error;
            await refused(bearerInvalid(error.message), address, signal);
            throw error;
          }
        };
        // A previously accepted client never waits behind unknown ones.
        const caller = await (callers.isKnown(credential) ? check() : checks.run(address, check, signal));
        const { orgId, grant, scopes } = caller;
        const audience = auth.mode === 'oauth' ? resource() : null;
        if ((grant?.toolServer ?? null) !== audience) throw bearerInvalid(wrongAudience(audience));
        // The client may get another token, with more rights, during a session.
        const owner = grant === null ? bearer : `${orgId} ${grant.givenBy} ${grant.clientId}`;
        return { id: digest(owner).toString('hex'), orgId, credential, scopes: grant === null ? null : scopes };
      };
  }
}

/**
 * Return the value of `WWW-Authenticate` for a refusal (RFC 6750, RFC 9728).
 *
 * @param metadataUrl URL of this tool server's metadata; null if people don't sign in
 */
export function challengeOf(error: AppError, metadataUrl: string | null): string {
  const fault = CHALLENGES[error.code];
  const scopes = error.details?.['scopes'] ?? BASIC_SCOPE;
  const parts = [
    'realm="service-mcp"',
    ...(fault === undefined ? [] : [`error="${fault}"`, `error_description="${plain(error.message)}"`]),
    ...(metadataUrl === null ? [] : [`resource_metadata="${metadataUrl}"`, `scope="${scopes}"`]),
  ];
  return `Bearer ${parts.join(', ')}`;
}

/** Error codes of RFC 6750 (section 3.1) by our own. */
const CHALLENGES: Readonly<Record<string, string>> = {
  bearer_invalid: 'invalid_token',
  insufficient_scope: 'insufficient_scope',
};

function plain(text: string): string {
  return text.replace(/[^\x20-\x7e]|["\\]/g, '');
}

/**
 * Require the right that a tool needs.
 *
 * @throws AppError `insufficient_scope` (403), which makes a client ask its user for more rights
 */
export function requireScope({ scopes }: Principal, scope: string): void {
  if (scopes === null || scopes.includes(scope)) return;
  throw new AppError({
    code: 'insufficient_scope',
    status: 403,
    message: `this tool needs the scope ${scope}, which was not granted; connect again to grant it`,
    // With those that it has, so that the next token has all of them.
    details: { scopes: [...scopes, scope].join(' ') },
  });
}

function wrongAudience(audience: string | null): string {
  if (audience === null)
    return 'this token is for a tool server that people sign in to; send an API key or a user token';
  return `this tool server needs an access token for ${audience}; connect again (clients that cannot sign in need a server in mode upstream-bearer)`;
}

function readBearer(authorization: string | undefined): string {
  const [, bearer] = /^bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? '') ?? [];
  if (bearer === undefined) {
    const message = 'this tool server needs the header "Authorization: Bearer <token>"';
    throw new AppError({ code: 'bearer_missing', status: 401, message });
  }
  if (bearer.length > BEARER_CHARS_MAX) throw bearerInvalid('the bearer token is too long');
  return bearer;
}

function tooManyRefusals(): AppError {
  return new AppError({
    code: 'too_many_failed_logins',
    status: 429,
    message: 'too many requests with invalid bearer tokens; wait a minute, and check the key or token',
    retryable: true,
    retryAfterSeconds: 60,
  });
}

function bearerInvalid(message: string): AppError {
  return new AppError({ code: 'bearer_invalid', status: 401, message });
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
