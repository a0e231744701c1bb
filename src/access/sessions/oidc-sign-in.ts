import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../../platform/errors.ts';
import type { Sql } from '../../platform/postgres.ts';
import { seal, unseal } from '../../platform/seal.ts';
import type { KeyRing } from '../../platform/secret-key.ts';
import { isSameHash } from '../api-key-format.ts';
import { selectUserFactsByOidc, type UserFacts } from '../credential-store.ts';
import { discoveryUrlOf, fetchJson, type OidcSettings, openOidcVerifier } from '../oidc.ts';

/** Time limit for signing in at the issuer. */
export const SIGN_IN_MS = 10 * 60_000;
const CONTEXT = 'oidc-sign-in';

/** Reason why a sign-in failed. The console explains each. */
export type SignInFault = 'refused' | 'expired' | 'unknown_user' | 'unavailable';

const Endpoint = z.url({ protocol: /^https?$/ });
const Discovery = z.object({
  issuer: z.string(),
  authorization_endpoint: Endpoint,
  token_endpoint: Endpoint,
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
});
const Tokens = z.object({ id_token: z.string().min(1).max(16_384) });
const Attempt = z.object({ state: z.string(), nonce: z.string(), verifier: z.string(), untilMs: z.number() });

/**
 * Sign-in of people by the OIDC issuer: authorization code flow with PKCE (RFC 6749, RFC 7636, OpenID Connect Core).
 */
export interface OidcSignIn {
  /**
   * Begin a sign-in.
   *
   * @param redirectUri address of this service to which the issuer sends the browser back
   * @returns the address at the issuer, and a value that the browser keeps meanwhile
   * @throws AppError `oidc_unavailable` (503)
   */
  begin(redirectUri: string): Promise<{ readonly location: string; readonly kept: string }>;
  /** Finish a sign-in with the parameters from the issuer. @param kept value that `begin` returned to this browser */
  finish(
    parameters: {
      readonly code?: string | undefined;
      readonly state?: string | undefined;
      readonly iss?: string | undefined;
    },
    kept: string | null,
    redirectUri: string,
  ): Promise<{ readonly user: UserFacts } | { readonly fault: SignInFault }>;
}

/** Open the sign-in by OIDC, or return null if the settings have no `client_id`. */
export function openOidcSignIn(context: {
  readonly sql: Sql;
  readonly keyRing: Pick<KeyRing, 'encryption'>;
  readonly oidc: OidcSettings | null;
}): OidcSignIn | null {
  const { sql, keyRing, oidc } = context;
  const clientId = oidc?.clientId ?? null;
  if (oidc === null || clientId === null) return null;
  const { issuer, algorithm, clientSecret = null, scopes = ['openid'] } = oidc;
  const verifier = openOidcVerifier({ issuer, algorithm, audience: clientId });

  async function discover(): Promise<z.output<typeof Discovery>> {
    try {
      const discovery = Discovery.parse(await fetchJson(discoveryUrlOf(issuer)));
      if (discovery.issuer !== issuer) throw new Error('the discovery document names another issuer');
      return discovery;
    } catch (cause) {
      throw unavailable(cause);
    }
  }

  async function redeem(code: string, codeVerifier: string, redirectUri: string): Promise<string> {
    const discovery = await discover();
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      code_verifier: codeVerifier,
      client_id: clientId as string,
    });
    const headers: Record<string, string> = {};
    const methods = discovery.token_endpoint_auth_methods_supported;
    if (clientSecret !== null && (methods === undefined || methods.includes('client_secret_basic'))) {
      const pair = [clientId as string, clientSecret.reveal()].map(encodeURIComponent).join(':');
      headers['Authorization'] = `Basic ${Buffer.from(pair).toString('base64')}`;
    } else if (clientSecret !== null) {
      body.set('client_secret', clientSecret.reveal());
    }
    return Tokens.parse(await fetchJson(discovery.token_endpoint, { body, headers })).id_token;
  }

  return {
    async begin(redirectUri) {
      const { authorization_endpoint } = await discover();
      const [state, nonce, codeVerifier] = [random(), random(), random()];
      const attempt: z.output<typeof Attempt> = {
        state,
        nonce,
        verifier: codeVerifier,
        untilMs: Date.now() + SIGN_IN_MS,
      };
      const location = new URL(authorization_endpoint);
      const parameters = {
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        scope: scopes.join(' '),
        state,
        nonce,
        code_challenge: challengeOf(codeVerifier),
        code_challenge_method: 'S256',
      };
      for (const [name, value] of Object.entries(parameters)) location.searchParams.set(name, value);
      const kept = seal(keyRing.encryption, JSON.stringify(attempt), CONTEXT).toString('base64url');
      return { location: location.href, kept };
    },
    async finish({ code, state, iss }, kept, redirectUri) {
      const attempt = kept === null ? null : readAttempt(keyRing, kept);
      if (attempt === null || attempt.untilMs < Date.now()) return { fault: 'expired' };
      if (state === undefined || !isSameText(state, attempt.state)) return { fault: 'expired' };
      if (code === undefined || (iss !== undefined && iss !== issuer)) return { fault: 'refused' };
      try {
        const claims = await verifier.verify(await redeem(code, attempt.verifier, redirectUri));
        if (claims.nonce === null || !isSameText(claims.nonce, attempt.nonce)) return { fault: 'refused' };
        const user = await selectUserFactsByOidc(sql, claims);
        return user === null || user.suspended ? { fault: 'unknown_user' } : { user };
      } catch (error) {
        if (error instanceof AppError && error.status < 500) return { fault: 'refused' };
        return { fault: 'unavailable' };
      }
    },
  };
}

function readAttempt(keyRing: Pick<KeyRing, 'encryption'>, kept: string): z.output<typeof Attempt> | null {
  try {
    return Attempt.parse(JSON.parse(unseal(keyRing.encryption, Buffer.from(kept, 'base64url'), CONTEXT)));
  } catch {
    return null;
  }
}

function random(): string {
  return randomBytes(32).toString('base64url');
}

function challengeOf(codeVerifier: string): string {
  return createHash('sha256').update(codeVerifier).digest('base64url');
}

function isSameText(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return isSameHash(digest(a), digest(b));
}

function unavailable(cause: unknown): AppError {
  return new AppError({
    code: 'oidc_unavailable',
    status: 503,
    message: 'the OIDC issuer does not answer; try again shortly, or sign in with a key',
    retryable: true,
    retryAfterSeconds: 2,
    cause,
  });
}
