import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../../platform/errors.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { KeyRing } from '../../platform/secret-key.ts';
import { isSameHash } from '../api-key-format.ts';
import { selectUserFactsByOidc, type UserFacts } from '../credential-store.ts';
import { type OidcClaims, type OidcSettings, openOidcVerifier } from '../oidc.ts';
import { type Invitation, takeSignInState } from './invitation-store.ts';
import type { Invitations } from './invitations.ts';
import { openIssuerClient } from './issuer-client.ts';
import { readSealed, sealFor } from './sealed-value.ts';

/** Time limit for signing in at the issuer, and for accepting an invitation afterwards. */
export const SIGN_IN_MS = 10 * 60_000;
const ATTEMPT_CONTEXT = 'oidc-sign-in';
const ACCEPTANCE_CONTEXT = 'oidc-invitation';

/** Reason why a sign-in failed. The console explains each. */
export type SignInFault = 'refused' | 'expired' | 'unknown_user' | 'identity_exists' | 'unavailable';

const Attempt = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  untilMs: z.number(),
  invitation: z.string().nullable(),
});
const Acceptance = z.object({
  issuer: z.string(),
  subject: z.string(),
  issuedAtMs: z.number(),
  untilMs: z.number(),
  invitation: z.string(),
});

/** Result of a sign-in: a user, an invitation still to be accepted, or the reason for the failure. */
export type SignInResult =
  | { readonly user: UserFacts }
  | { readonly acceptance: string }
  | { readonly fault: SignInFault };

/**
 * Sign-in of people by the OIDC issuer: authorization code flow with PKCE (RFC 6749, RFC 7636, OpenID Connect Core).
 */
export interface OidcSignIn {
  /**
   * Begin a sign-in.
   *
   * @param redirectUri address of this service to which the issuer redirects the browser
   * @param invitation token of the invitation that the person follows, or null
   * @returns the issuer's address, and a value that the browser keeps until `finish`
   * @throws AppError `oidc_unavailable` (503)
   */
  begin(redirectUri: string, invitation: string | null): Promise<{ readonly location: string; readonly kept: string }>;
  /**
   * Finish a sign-in with the issuer's parameters, which work only once.
   *
   * @param kept value that `begin` returned to this browser
   */
  finish(
    parameters: {
      readonly code?: string | undefined;
      readonly state?: string | undefined;
      readonly iss?: string | undefined;
    },
    kept: string | null,
    redirectUri: string,
  ): Promise<SignInResult>;
  /** Return the pending invitation of this browser's person; null if there is none. */
  findInvitation(acceptance: string | null): Promise<Invitation | null>;
  /** Connect the identity of this browser's person with the invited user. @throws AppError of `Invitations.accept` */
  acceptInvitation(acceptance: string | null): Promise<UserFacts>;
}

/** Open OIDC sign-in, or return null if no `client_id` is configured. */
export function openOidcSignIn(context: {
  readonly sql: Sql;
  readonly keyRing: Pick<KeyRing, 'encryption'>;
  readonly oidc: OidcSettings | null;
  readonly invitations: Invitations;
}): OidcSignIn | null {
  const { sql, keyRing, oidc, invitations } = context;
  const clientId = oidc?.clientId ?? null;
  if (oidc === null || clientId === null) return null;
  const { issuer, algorithm, clientSecret = null, scopes = ['openid'], groupsClaim = null } = oidc;
  const verifier = openOidcVerifier({ issuer, algorithm, audience: clientId, isIdToken: true, groupsClaim });
  const client = openIssuerClient({ issuer, clientId, clientSecret });

  return {
    async begin(redirectUri, invitation) {
      const { authorization_endpoint } = await client.discover();
      const [state, nonce, codeVerifier] = [random(), random(), random()];
      const attempt: z.output<typeof Attempt> = {
        state,
        nonce,
        verifier: codeVerifier,
        untilMs: Date.now() + SIGN_IN_MS,
        invitation,
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
      return { location: location.href, kept: sealFor(keyRing, attempt, ATTEMPT_CONTEXT) };
    },
    async finish({ code, state, iss }, kept, redirectUri) {
      const attempt = readSealed(keyRing, kept, Attempt, ATTEMPT_CONTEXT);
      if (attempt === null) return { fault: 'expired' };
      if (state === undefined || !isSameText(state, attempt.state)) return { fault: 'expired' };
      if (code === undefined || (iss !== undefined && iss !== issuer)) return { fault: 'refused' };
      if (!(await takeSignInState(sql, digestOf(state), new Date(attempt.untilMs)))) return { fault: 'expired' };
      try {
        const claims = await verifier.verify(await client.redeem(code, attempt.verifier, redirectUri));
        if (claims.nonce === null || !isSameText(claims.nonce, attempt.nonce)) return { fault: 'refused' };
        return await recognise(claims, attempt.invitation);
      } catch (error) {
        if (error instanceof AppError && error.code === 'identity_exists') return { fault: 'identity_exists' };
        if (error instanceof AppError && error.status < 500) return { fault: 'refused' };
        return { fault: 'unavailable' };
      }
    },
    async findInvitation(sealed) {
      const acceptance = readSealed(keyRing, sealed, Acceptance, ACCEPTANCE_CONTEXT);
      return acceptance && invitations.find(acceptance.invitation);
    },
    async acceptInvitation(sealed) {
      const acceptance = readSealed(keyRing, sealed, Acceptance, ACCEPTANCE_CONTEXT);
      return invitations.accept(acceptance?.invitation ?? '', acceptance ?? { issuer, subject: '', issuedAtMs: 0 });
    },
  };

  /** Find the user of an identity, or else the user or invitation that it can be connected with. */
  async function recognise(claims: OidcClaims, invitation: string | null): Promise<SignInResult> {
    const { subject, issuedAtMs, verifiedEmail } = claims;
    const user =
      (await selectUserFactsByOidc(sql, claims)) ??
      (verifiedEmail === null ? null : await invitations.connectByEmail(verifiedEmail, claims));
    if (user !== null) return user.suspended ? { fault: 'unknown_user' } : { user };
    if (invitation === null || (await invitations.find(invitation)) === null) return { fault: 'unknown_user' };
    const acceptance: z.output<typeof Acceptance> = {
      issuer,
      subject,
      issuedAtMs,
      invitation,
      untilMs: Date.now() + SIGN_IN_MS,
    };
    return { acceptance: sealFor(keyRing, acceptance, ACCEPTANCE_CONTEXT) };
  }
}

function random(): string {
  return randomBytes(32).toString('base64url');
}

function challengeOf(codeVerifier: string): string {
  return createHash('sha256').update(codeVerifier).digest('base64url');
}

function isSameText(a: string, b: string): boolean {
  return isSameHash(digestOf(a), digestOf(b));
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
