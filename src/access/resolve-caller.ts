import { hash } from 'node:crypto';
import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import { osUserName } from '../platform/os-user.ts';
import type { Sql } from '../platform/postgres.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import { API_KEY_CHARS_MAX, hashCredential, isSameHash, parseApiKey } from './api-key-format.ts';
import type { Caller } from './caller.ts';
import { openCredentialCache, type Resolved } from './credential-cache.ts';
import {
  expiredCredentials,
  invalidCredentials,
  missingCredentials,
  organizationElsewhere,
} from './credential-errors.ts';
import {
  type ApiKeyFacts,
  selectApiKeyFacts,
  selectUserFacts,
  selectUserFactsByOidc,
  type UserFacts,
} from './credential-store.ts';
import { pepperOf } from './key-pepper.ts';
import { updateLastUsed } from './key-store.ts';
import { callerOfKey, callerOfUser } from './make-caller.ts';
import type { OAuth } from './oauth/oauth.ts';
import { isAccessToken } from './oauth/secrets.ts';
import { type OidcSettings, openOidcVerifier } from './oidc.ts';
import { operatorCaller } from './operator.ts';
import { findOrganization } from './organizations.ts';
import { OWN_ISSUER, verifyOwnToken } from './own-token.ts';

const TOKEN_CHARS_MAX = 8192;

export interface VerifiedToken {
  readonly user: UserFacts;
  /** Id for revoking this token alone; null for tokens of an OIDC issuer. */
  readonly tokenId: string | null;
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number;
}

export interface CallerResolver {
  /**
   * Resolve an `Authorization` header to its caller.
   *
   * @throws AppError `missing_credentials`, `invalid_credentials`, `expired_credentials` (401),
   *   `organization_elsewhere`, `oidc_unavailable` (503)
   */
  resolve(authorization: string | undefined): Promise<Caller>;
  /** Verify an API key or user token without the cache, and return its record. @throws AppError of `resolve` */
  verify(credential: string): Promise<{ readonly key: ApiKeyFacts } | VerifiedToken>;
  /**
   * Return the command-line operator as a caller for one organization.
   *
   * @throws AppError `organization_not_found` (404)
   */
  resolveOperator(orgNameOrId: string, osUser?: string): Promise<Caller>;
}

/**
 * Open the only resolver of credentials to callers. Every request passes through it. It caches successful results for
 * `cacheMs`, short enough for revocation and suspension to take effect within 1 s.
 *
 * @throws AppError `config_invalid` for invalid OIDC settings
 */
export function openCallerResolver(settings: {
  sql: Sql;
  keyRing: KeyRing;
  oidc: OidcSettings | null;
  /** Access tokens of clients; null to reject them. */
  oauth: Pick<OAuth, 'lookUp'> | null;
  logger: Logger;
  cacheMs?: number;
  cacheEntriesMax?: number;
}): CallerResolver {
  const { sql, keyRing, oauth, logger, cacheMs = 500, cacheEntriesMax = 10_000 } = settings;
  const oidc = settings.oidc ? openOidcVerifier(settings.oidc) : null;
  const cache = openCredentialCache({ cacheMs, cacheEntriesMax });

  async function verifyKey(id: string, presented: string): Promise<ApiKeyFacts> {
    const key = await selectApiKeyFacts(sql, id);
    if (!key || !isSameHash(key.hash, hashCredential(pepperOf(keyRing, key), presented))) throw invalidCredentials();
    if (key.isElsewhere) throw organizationElsewhere();
    if (key.refused) throw invalidCredentials();
    if (key.expired) throw expiredCredentials();
    if (key.lastUsedIsOld) recordUse(key.orgId, id);
    return key;
  }

  async function lookUpKey(id: string, presented: string): Promise<Resolved> {
    const key = await verifyKey(id, presented);
    return { caller: callerOfKey(key), endsInMs: key.endsInMs };
  }

  async function lookUpToken(token: string): Promise<Resolved> {
    const { user, expiresAtMs } = await verifyToken(token);
    return { caller: callerOfUser(user), endsInMs: expiresAtMs - Date.now() };
  }

  async function verifyToken(token: string): Promise<VerifiedToken> {
    const { user, ...claims } = await readToken(token);
    if (!user || user.suspended) throw invalidCredentials();
    return { user, ...claims };
  }

  /** Verify a token. The claimed issuer selects the verifier, which accepts only its own issuer. */
  async function readToken(token: string): Promise<Omit<VerifiedToken, 'user'> & { user: UserFacts | null }> {
    const claimedIssuer = await issuerOf(token);
    if (claimedIssuer === OWN_ISSUER) {
      const claims = await verifyOwnToken(keyRing, token);
      const { tokenId, expiresAtMs } = claims;
      return { user: await selectUserFacts(sql, claims), tokenId, expiresAtMs };
    }
    if (oidc && claimedIssuer === oidc.issuer) {
      const claims = await oidc.verify(token);
      return { user: await selectUserFactsByOidc(sql, claims), tokenId: null, expiresAtMs: claims.expiresAtMs };
    }
    throw invalidCredentials();
  }

  function recordUse(orgId: string, keyId: string): void {
    updateLastUsed(sql, orgId, keyId).catch((error: unknown) => {
      logger.warn({ err: error, key_id: keyId }, 'the last use of a key could not be recorded');
    });
  }

  return {
    async resolve(authorization) {
      const credential = readBearer(authorization);
      const isKey = credential.startsWith('svc_');
      if (isKey && credential.length > API_KEY_CHARS_MAX) throw invalidCredentials();
      if (credential.length > TOKEN_CHARS_MAX) throw tokenTooLong();
      // Use a hash as cache key, so that a memory dump doesn't contain every credential of the last half second.
      const cacheKey = hash('sha256', credential, 'base64');
      const known = cache.get(cacheKey);
      if (known) return known;
      if (oauth !== null && isAccessToken(credential)) return cache.load(cacheKey, () => oauth.lookUp(credential));
      if (!isKey) return cache.load(cacheKey, () => lookUpToken(credential));
      const parsed = parseApiKey(credential);
      if (!parsed) throw invalidCredentials();
      return cache.load(cacheKey, () => lookUpKey(parsed.id, credential));
    },
    async verify(credential) {
      if (!credential.startsWith('svc_')) {
        if (credential.length > TOKEN_CHARS_MAX) throw tokenTooLong();
        return verifyToken(credential);
      }
      const parsed = credential.length > API_KEY_CHARS_MAX ? null : parseApiKey(credential);
      if (!parsed) throw invalidCredentials();
      return { key: await verifyKey(parsed.id, credential) };
    },
    async resolveOperator(orgNameOrId, osUser = osUserName()) {
      return operatorCaller(await findOrganization(sql, orgNameOrId), osUser);
    },
  };
}

function tokenTooLong(): AppError {
  const message =
    `the token is longer than ${TOKEN_CHARS_MAX} characters; let the identity provider send fewer claims, ` +
    'such as only the groups of this application';
  return new AppError({ code: 'token_too_long', status: 401, message });
}

function readBearer(authorization: string | undefined): string {
  const [, credential] = /^bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
  if (credential !== undefined) return credential;
  throw /^bearer +\S/i.test(authorization ?? '') ? invalidCredentials() : missingCredentials();
}

async function issuerOf(token: string): Promise<string | null> {
  const { decodeJwt, errors } = await import('jose'); // takes a while to load, and most commands need no token
  try {
    return decodeJwt(token).iss ?? null;
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}
