import type { ImapLogin } from '../../../platform/imap-settings.ts';
import { boundedLine } from '../../../platform/printable.ts';
import { Secret } from '../../../platform/secret.ts';
import { HttpUpstream } from '../../../platform/upstream/transport.ts';
import { UpstreamFault } from '../../../platform/upstream/upstream-fault.ts';
import { SourceFault } from '../source-reader.ts';

const TIMEOUT_MS = 20_000;
const BODY_BYTES_MAX = 65_536;
const WORDS_CHARS_MAX = 300;

type OAuthLogin = Extract<ImapLogin, { readonly tokenUrl: string }>;

/**
 * Request an access token from an authorization server: with the refresh token (RFC 6749, section 6), or else with
 * client credentials (section 4.4).
 *
 * @throws SourceFault `source_refused` quoting the server, or `source_unavailable`
 */
export async function requestAccessToken(login: OAuthLogin, signal: AbortSignal): Promise<Secret> {
  const { origin, pathname, search, host } = new URL(login.tokenUrl);
  const upstream = new HttpUpstream(origin, { connectionsMax: 1 });
  try {
    const { status, body } = await upstream.call({
      method: 'POST',
      path: pathname + search,
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: formOf(login),
      timeoutMs: TIMEOUT_MS,
      bodyBytesMax: BODY_BYTES_MAX,
      signal,
    });
    const answer = fieldsOf(body);
    const token = answer['access_token'];
    if (status === 200 && typeof token === 'string' && token !== '') return new Secret(token);
    throw refusal(status, answer, login);
  } catch (error) {
    if (!(error instanceof UpstreamFault)) throw error;
    throw new SourceFault('source_unavailable', `the authorization server ${host} cannot be used: ${error.message}`, {
      retryable: true,
      cause: error,
    });
  } finally {
    await upstream.close();
  }
}

function formOf({ clientId, clientSecret, refreshToken, scope }: OAuthLogin): string {
  return new URLSearchParams({
    ...(refreshToken === null
      ? { grant_type: 'client_credentials' }
      : { grant_type: 'refresh_token', refresh_token: refreshToken.reveal() }),
    client_id: clientId,
    ...(clientSecret === null ? {} : { client_secret: clientSecret.reveal() }),
    ...(scope === null ? {} : { scope }),
  }).toString();
}

function fieldsOf(body: Buffer): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'));
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Build the fault for a response without a token. RFC 6749 defines its fields `error` and `error_description`. */
function refusal(status: number, answer: Record<string, unknown>, login: OAuthLogin): SourceFault {
  const words = [answer['error'], answer['error_description']].filter((each) => typeof each === 'string');
  const secrets = [login.clientSecret, login.refreshToken].flatMap((secret) => secret?.reveal() ?? []);
  const safe = secrets.reduce((text, secret) => text.replaceAll(secret, '***'), words.join(': '));
  const said = safe === '' ? `status ${status}` : boundedLine(safe, WORDS_CHARS_MAX);
  const isRefused = status >= 400 && status < 500 && status !== 429;
  const advice = isRefused ? '; check client_id, client_secret and refresh_token of the connection' : '';
  return new SourceFault(
    isRefused ? 'source_refused' : 'source_unavailable',
    `the authorization server ${new URL(login.tokenUrl).host} gives no access token (${said})${advice}`,
    { retryable: !isRefused },
  );
}
