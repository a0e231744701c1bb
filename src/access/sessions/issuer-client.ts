import { z } from 'zod';
import { AppError } from '../../platform/errors.ts';
import type { Secret } from '../../platform/secret.ts';
import { discoveryUrlOf, fetchJson } from '../oidc.ts';

/** Time for which the issuer's endpoints are cached. */
const DISCOVERY_MS = 10 * 60_000;

const Endpoint = z.url({ protocol: /^https?$/ });
const Discovery = z.object({
  issuer: z.string(),
  authorization_endpoint: Endpoint,
  token_endpoint: Endpoint,
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
});
const Tokens = z.object({ id_token: z.string().min(1).max(16_384) });

/** Client for an OIDC issuer at which people sign in. */
export interface IssuerClient {
  /** @throws AppError `oidc_unavailable` (503) */
  discover(): Promise<z.output<typeof Discovery>>;
  /** Exchange a code for an ID token. @throws Error if the issuer refuses it, AppError `oidc_unavailable` (503) */
  redeem(code: string, codeVerifier: string, redirectUri: string): Promise<string>;
}

export function openIssuerClient(settings: {
  readonly issuer: string;
  readonly clientId: string;
  /** Null for a public client. */
  readonly clientSecret: Secret | null;
}): IssuerClient {
  const { issuer, clientId, clientSecret } = settings;
  let known: { readonly discovery: z.output<typeof Discovery>; readonly untilMs: number } | null = null;

  async function discover(): Promise<z.output<typeof Discovery>> {
    if (known !== null && performance.now() < known.untilMs) return known.discovery;
    try {
      const discovery = Discovery.parse(await fetchJson(discoveryUrlOf(issuer)));
      if (discovery.issuer !== issuer) throw new Error('the discovery document names another issuer');
      known = { discovery, untilMs: performance.now() + DISCOVERY_MS };
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
      client_id: clientId,
    });
    const headers: Record<string, string> = {};
    const methods = discovery.token_endpoint_auth_methods_supported;
    if (clientSecret !== null && (methods === undefined || methods.includes('client_secret_basic'))) {
      const pair = [clientId, clientSecret.reveal()].map(encodeURIComponent).join(':');
      headers['Authorization'] = `Basic ${Buffer.from(pair).toString('base64')}`;
    } else if (clientSecret !== null) {
      body.set('client_secret', clientSecret.reveal());
    }
    return Tokens.parse(await fetchJson(discovery.token_endpoint, { body, headers })).id_token;
  }

  return { discover, redeem };
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
