import { Secret } from '../platform/secret.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import { expiredCredentials, invalidCredentials } from './credential-errors.ts';

/** `iss` and `aud` of the appliance's own tokens. No OIDC issuer can have this value, because issuers are URLs. */
export const OWN_ISSUER = 'service';
/** Type of an access token (RFC 9068). Tokens for other purposes under the same key are refused. */
const TYPE = 'at+jwt';
const ALGORITHM = 'HS256';

export interface OwnTokenClaims {
  readonly orgId: string;
  readonly userId: string;
  /** Id for revoking this token alone; null in tokens of earlier versions. */
  readonly tokenId: string | null;
  /** Generation of the user's tokens when this one was signed. */
  readonly generation: number;
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number;
}

/** Sign a user token: a JWT (RFC 7519) with `sub` (user id), `org_id`, `jti`, `gen`, `iss`, `aud`, `iat`, `exp`. */
export async function signOwnToken(keyRing: KeyRing, claims: OwnTokenClaims): Promise<Secret> {
  const { SignJWT } = await import('jose'); // takes a while to load, and most commands need no token
  const token = await new SignJWT({
    iss: OWN_ISSUER,
    aud: OWN_ISSUER,
    sub: claims.userId,
    org_id: claims.orgId,
    gen: claims.generation,
    ...(claims.tokenId === null ? {} : { jti: claims.tokenId }),
    iat: Math.floor(Date.now() / 1000),
    exp: Math.floor(claims.expiresAtMs / 1000),
  })
    .setProtectedHeader({ alg: ALGORITHM, typ: TYPE })
    .sign(keyRing.tokenSigning);
  return new Secret(token);
}

/** @throws AppError `invalid_credentials` or `expired_credentials` (401) */
export async function verifyOwnToken(keyRing: KeyRing, token: string): Promise<OwnTokenClaims> {
  const { errors, jwtVerify } = await import('jose');
  try {
    const { payload } = await jwtVerify<{ org_id?: unknown; gen?: unknown }>(token, keyRing.tokenSigning, {
      algorithms: [ALGORITHM],
      issuer: OWN_ISSUER,
      audience: OWN_ISSUER,
      typ: TYPE,
      requiredClaims: ['sub', 'org_id', 'iat', 'exp'],
    });
    const { sub, org_id: orgId, exp, jti = null, gen = 0 } = payload;
    if (typeof sub !== 'string' || typeof orgId !== 'string' || typeof exp !== 'number') throw invalidCredentials();
    if (typeof gen !== 'number' || (jti !== null && typeof jti !== 'string')) throw invalidCredentials();
    return { orgId, userId: sub, tokenId: jti, generation: gen, expiresAtMs: exp * 1000 };
  } catch (error) {
    // The library's errors contain the token's claims, so don't keep them as the cause.
    if (error instanceof errors.JWTExpired) throw expiredCredentials();
    if (error instanceof errors.JOSEError) throw invalidCredentials();
    throw error;
  }
}
