import type { JWTPayload, JWTVerifyGetKey, RemoteJWKSet } from 'jose';
import { z } from 'zod';
import { runWithin } from '../platform/deadline.ts';
import { AppError, dependencyDown } from '../platform/errors.ts';
import type { Secret } from '../platform/secret.ts';
import { expiredCredentials, invalidCredentials } from './credential-errors.ts';
import { readGroupsClaim } from './groups/claimed-groups.ts';

/** Settings of `oidc`. */
export interface OidcSettings {
  /** Issuer; must equal the `iss` claim. */
  readonly issuer: string;
  readonly audience: string;
  /** The only accepted signature algorithm of the issuer. */
  readonly algorithm: string;
  /** Required `typ` header of tokens: `at+jwt` (RFC 9068) or `JWT`. Null accepts any, because many issuers set none. */
  readonly tokenType?: string | null;
  /** Clients (`azp`, or `client_id`) whose tokens are accepted; null accepts those of every client. */
  readonly authorizedParties?: readonly string[] | null;
  /** Client id of the web console at the issuer; null to disable OIDC sign-in there. */
  readonly clientId?: string | null;
  /** Null for a public client. */
  readonly clientSecret?: Secret | null;
  /** Requested scopes, including `openid`. */
  readonly scopes?: readonly string[];
  /** Organizations by the domain of their people's email addresses. */
  readonly emailDomains?: Readonly<Record<string, string>>;
  /** True to create users for people of these domains when they first sign in. */
  readonly provision?: boolean;
  /** Claim that contains the person's groups; null if tokens have none. */
  readonly groupsClaim?: string | null;
}

export interface OidcClaims {
  readonly issuer: string;
  readonly subject: string;
  /** Milliseconds since 1970, or 0 if the token does not state its time of issue. */
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
  /** Value that ties an ID token to one sign-in, or null. */
  readonly nonce: string | null;
  /** Email address confirmed by the issuer, or null. */
  readonly verifiedEmail: string | null;
  /** Groups that the token names; null if no claim for them is configured. */
  readonly groups: readonly string[] | null;
}

export interface OidcVerifier {
  readonly issuer: string;
  /**
   * @throws AppError `invalid_credentials` or `expired_credentials` (401), `oidc_unavailable` (503) if the issuer's
   *   keys are needed and cannot be fetched
   */
  verify(token: string): Promise<OidcClaims>;
}

/**
 * Signature algorithms with a key pair. If shared secrets were accepted, the issuer's public key could serve as one.
 */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const ISSUER_TIMEOUT_MS = 3000;
const ISSUER_BODY_BYTES_MAX = 1024 * 1024;
/** Pause after a failure of the issuer, so that not every request has to wait for it. */
const ISSUER_PAUSE_MS = 1000;
const CLOCK_TOLERANCE_SECONDS = 30;
const SUBJECT_CHARS_MAX = 255; // OpenID Connect Core 1.0, section 2

const Discovery = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });
const JwkSet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) });

/**
 * Open a verifier for tokens of one OIDC issuer. It contacts only that issuer and the `jwks_uri` of its discovery
 * document: for the first token, and later if the keys are 10 minutes old or a key is missing.
 *
 * @param settings.isIdToken true to verify ID tokens, whose audience is the client that asked for them
 * @throws AppError `config_invalid` if the algorithm doesn't use a key pair
 */
export function openOidcVerifier(settings: OidcSettings & { readonly isIdToken?: boolean }): OidcVerifier {
  const { issuer, audience, algorithm, tokenType = null, authorizedParties = null, isIdToken = false } = settings;
  const { groupsClaim = null } = settings;
  if (!ALGORITHMS.includes(algorithm)) {
    throw new AppError({
      code: 'config_invalid',
      status: 500,
      message: `settings are not valid:\n  - oidc.algorithm: must be one of ${ALGORITHMS.join(', ')}`,
    });
  }
  const keys = openIssuerKeys(issuer);
  return {
    issuer,
    async verify(token) {
      const { errors, jwtVerify } = await import('jose'); // takes a while to load, and most commands need no token
      try {
        const { payload } = await jwtVerify(token, keys, {
          algorithms: [algorithm],
          issuer,
          audience,
          clockTolerance: CLOCK_TOLERANCE_SECONDS,
          requiredClaims: ['sub', 'exp'],
          ...(tokenType === null ? {} : { typ: tokenType }),
        });
        const party = payload['azp'] ?? payload['client_id'];
        if (authorizedParties !== null && (typeof party !== 'string' || !authorizedParties.includes(party)))
          throw invalidCredentials();
        if (isIdToken && !isMadeFor(payload, audience)) throw invalidCredentials();
        const { sub, exp, iat = 0 } = payload;
        if (iat > Date.now() / 1000 + CLOCK_TOLERANCE_SECONDS) throw invalidCredentials();
        if (typeof sub !== 'string' || sub.length > SUBJECT_CHARS_MAX || sub.includes('\0') || exp === undefined) {
          throw invalidCredentials();
        }
        const nonce = typeof payload['nonce'] === 'string' ? payload['nonce'] : null;
        const expiresAtMs = (exp + CLOCK_TOLERANCE_SECONDS) * 1000;
        const { email } = payload;
        const verifiedEmail = payload['email_verified'] === true && typeof email === 'string' ? email : null;
        const groups = groupsClaim === null ? null : readGroupsClaim(payload, groupsClaim);
        return { issuer, subject: sub, issuedAtMs: iat * 1000, expiresAtMs, nonce, verifiedEmail, groups };
      } catch (error) {
        // The library's errors contain the token's claims, so don't keep them as the cause.
        if (error instanceof errors.JWTExpired) throw expiredCredentials();
        if (error instanceof errors.JOSEError) throw invalidCredentials();
        throw error;
      }
    },
  };
}

/** Check the parties of an ID token (OpenID Connect Core 1.0, section 3.1.3.7, steps 4 and 5). */
function isMadeFor({ aud, azp }: JWTPayload, clientId: string): boolean {
  if (azp !== undefined) return azp === clientId;
  return !Array.isArray(aud) || aud.length === 1;
}

/** Open the public keys of the issuer. They are located on first use by OpenID Connect Discovery 1.0. */
function openIssuerKeys(issuer: string): JWTVerifyGetKey {
  const discoveryUrl = discoveryUrlOf(issuer);
  let pausedUntilMs = 0;
  let found: Promise<RemoteJWKSet> | null = null;

  async function fetchFrom<T>(url: string, read: (json: unknown) => T): Promise<T> {
    if (performance.now() < pausedUntilMs) throw issuerDown(issuer);
    try {
      return read(await fetchJson(url));
    } catch (error) {
      pausedUntilMs = performance.now() + ISSUER_PAUSE_MS;
      throw issuerDown(issuer, error);
    }
  }

  async function discover(): Promise<RemoteJWKSet> {
    const jwksUrl = await fetchFrom(discoveryUrl, (json) => jwksUrlOf(Discovery.parse(json), issuer));
    const jose = await import('jose');
    return jose.createRemoteJWKSet(jwksUrl, {
      [jose.customFetch]: (url) => fetchFrom(url, (json) => Response.json(JwkSet.parse(json))),
    });
  }

  return async (header, token) => {
    found ??= discover();
    const finding = found;
    let keySet: RemoteJWKSet | null = null;
    try {
      keySet = await finding;
      return await keySet(header, token);
    } catch (error) {
      // Keep using fresh keys while the issuer is down. For others, discover the URL again, which may have changed.
      if (error instanceof AppError && !keySet?.fresh && found === finding) found = null;
      throw error;
    }
  };
}

function jwksUrlOf(discovery: z.infer<typeof Discovery>, issuer: string): URL {
  if (discovery.issuer !== issuer) throw new Error('the discovery document names another issuer');
  const url = new URL(discovery.jwks_uri);
  if (issuer.startsWith('https:') && url.protocol !== 'https:') throw new Error('jwks_uri is not https');
  return url;
}

/** Return the URL of an issuer's discovery document. */
export function discoveryUrlOf(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
}

function issuerDown(issuer: string, cause?: unknown): AppError {
  return dependencyDown('oidc', `the keys of the OIDC issuer ${issuer} cannot be fetched; try again shortly`, cause);
}

/** Form to post to an issuer, with additional headers. */
interface IssuerForm {
  readonly body: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Fetch JSON from an issuer, by POST if there is a form. Don't follow redirects.
 * @throws Error for anything except a 200 with JSON of limited size within the time limit
 */
export function fetchJson(url: string, form?: IssuerForm): Promise<unknown> {
  return runWithin(ISSUER_TIMEOUT_MS, undefined, (signal) => readJson(url, form, signal));
}

async function readJson(url: string, form: IssuerForm | undefined, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(url, {
    ...(form === undefined ? {} : { method: 'POST', body: form.body }),
    redirect: 'error',
    headers: { accept: 'application/json', ...form?.headers },
    signal,
  });
  if (response.status !== 200 || !response.body) {
    await response.body?.cancel();
    throw new Error(`the answer has status ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > ISSUER_BODY_BYTES_MAX) throw new Error(`the answer is larger than ${ISSUER_BODY_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}
