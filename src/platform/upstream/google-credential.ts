import { Secret } from '../secret.ts';
import type { ServiceAccount } from '../service-account.ts';
import { unlessAborted } from '../unless-aborted.ts';
import { faultsOf } from './classify.ts';
import { badReply, field, parseJson } from './parse-json.ts';
import { HttpUpstream } from './transport.ts';
import { UpstreamFault } from './upstream-fault.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const TIMEOUT_MS = 10_000;
const BODY_BYTES_MAX = 65_536;
/** Time before expiry at which a token is replaced. */
const SPARE_MS = 300_000;

/** Classification of responses: 400 and 401 mean that the key is refused; others are failures of the token server. */
const faultOf = faultsOf((status) => (status === 400 || status === 401 || status === 403 ? 'refused' : null));

/** Access tokens of one service account. */
export interface GoogleCredential {
  /** Return a valid token. @throws UpstreamFault `refused` or `transient`; the signal's reason once it is aborted */
  key(signal: AbortSignal): Promise<Secret>;
  /** Drop a token that was refused. */
  forget(): void;
  close(): Promise<void>;
}

interface Token {
  readonly secret: Secret;
  readonly renewAtMs: number;
}

/**
 * Exchange a service account's key for access tokens by the JWT bearer grant of RFC 7523
 * (developers.google.com/identity/protocols/oauth2/service-account, November 2026). Calls share a token until five
 * minutes before it expires.
 *
 * @param scope Google URL of the access that the tokens grant
 */
export function openGoogleCredential(
  account: ServiceAccount,
  scope: string,
  now = () => performance.now(),
): GoogleCredential {
  const upstream = new HttpUpstream(new URL(account.tokenUrl).origin, { connectionsMax: 1 });
  let token: Token | null = null;
  let pending: Promise<Token> | null = null;
  return {
    async key(signal) {
      if (token !== null && now() < token.renewAtMs) return token.secret;
      pending ??= requestToken(account, scope, upstream, now)
        .then((fresh) => {
          token = fresh;
          return fresh;
        })
        .finally(() => {
          pending = null;
        });
      return (await unlessAborted(pending, signal)).secret;
    },
    forget() {
      token = null;
    },
    close: () => upstream.close(),
  };
}

async function requestToken(
  account: ServiceAccount,
  scope: string,
  upstream: HttpUpstream,
  now: () => number,
): Promise<Token> {
  const reply = await upstream.call({
    method: 'POST',
    path: new URL(account.tokenUrl).pathname,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: GRANT, assertion: await assertionOf(account, scope) }).toString(),
    timeoutMs: TIMEOUT_MS,
    bodyBytesMax: BODY_BYTES_MAX,
    // Use no caller's signal, because other callers may also be waiting for the token.
    signal: new AbortController().signal,
  });
  if (reply.status !== 200) throw faultOf(reply.status, reply.headers, reply.body);
  const answer = parseJson(reply.body);
  const [value, seconds] = [field(answer, 'access_token'), field(answer, 'expires_in')];
  if (typeof value !== 'string' || typeof seconds !== 'number') throw badReply('bad_shape', 'there is no access token');
  return { secret: new Secret(value), renewAtMs: now() + seconds * 1000 - SPARE_MS };
}

/** Sign an assertion with the private key. @throws UpstreamFault `refused` if it isn't an RSA key */
async function assertionOf({ email, privateKey, keyId, tokenUrl }: ServiceAccount, scope: string): Promise<string> {
  const { importPKCS8, SignJWT } = await import('jose'); // takes a while to load, and most vendors need no token
  try {
    const key = await importPKCS8(privateKey.reveal(), 'RS256');
    return await new SignJWT({ scope })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(keyId === null ? {} : { kid: keyId }) })
      .setIssuer(email)
      .setAudience(tokenUrl)
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(key);
  } catch {
    const message = 'the private key of the service account cannot be used';
    throw new UpstreamFault({ kind: 'refused', code: 'bad_private_key', message });
  }
}
