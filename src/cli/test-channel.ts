import type { CredentialCheck } from '../channels/later/check-credential.ts';
import { textOf } from '../channels/messengers/messenger.ts';
import { MESSENGERS } from '../channels/messengers/messengers.ts';
import { ChannelReply } from '../channels/schema.ts';
import type { SignedDelivery } from '../operations/sign-test-delivery.ts';
import { AppError } from '../platform/errors.ts';
import { printable } from '../platform/printable.ts';

/** Time limit, longer than the maximum deadline of a reply. */
const TIMEOUT_MS = 65_000;
const DETAIL_CHARS_MAX = 1000;

/** Reply of the server and its duration. */
export interface TestedChannel {
  readonly reply: object;
  readonly text: string;
  readonly tookMs: number;
}

/**
 * Post a delivery to a running server, as the messenger does.
 *
 * @param url address of the server, without a path
 * @throws AppError `server_unreachable` (503), `delivery_refused`; the signal's reason
 */
export async function postDelivery(
  delivery: SignedDelivery,
  { url, signal }: { readonly url: string; readonly signal: AbortSignal },
): Promise<TestedChannel> {
  const startMs = performance.now();
  const response = await post(url, signal, delivery);
  const tookMs = performance.now() - startMs;
  if (response.status !== 200) throw refused(response);
  try {
    const messenger = MESSENGERS.get(delivery.provider);
    const text = messenger ? messenger.readText(response.json) : textOf(ChannelReply.parse(response.json));
    return { reply: response.json as object, text, tookMs };
  } catch (error) {
    throw unreachable(url, 'the response is not that of this service', error);
  }
}

/**
 * Explain a platform's verdict on the credential for replies; null if replies need none.
 *
 * @throws AppError `credential_refused` (502)
 */
export function explainCredential({
  provider,
  check,
}: {
  readonly provider: string;
  readonly check: CredentialCheck | null;
}): string | null {
  if (check === null) return null;
  if (check.status === 'accepted') return `${provider} accepts the token`;
  if (check.status === 'unknown') return `could not find out if ${provider} accepts the token (${check.reason})`;
  const message = `${provider} refuses the token (${check.reason}), so replies cannot be sent; create the channel with another token`;
  throw new AppError({ code: 'credential_refused', status: 502, message });
}

async function post(
  url: string,
  signal: AbortSignal,
  { path, body, headers }: SignedDelivery,
): Promise<{ readonly status: number; readonly json: unknown }> {
  try {
    const response = await fetch(new URL(path, url), {
      method: 'POST',
      redirect: 'error',
      body,
      headers,
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    const text = await response.text();
    return { status: response.status, json: parsed(text) };
  } catch (error) {
    signal.throwIfAborted();
    throw unreachable(
      url,
      (error as Error).name === 'TimeoutError' ? 'the server does not answer' : 'the connection failed',
      error,
    );
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function refused({ status, json }: { readonly status: number; readonly json: unknown }): AppError {
  const detail = (json as { detail?: unknown } | null)?.detail;
  const why = typeof detail === 'string' ? printable(detail).slice(0, DETAIL_CHARS_MAX) : 'it gave no reason';
  const message =
    `the server answered ${status}: ${why}. Check that it uses the database and the secret key of this installation, ` +
    'and that its clock is right.';
  return new AppError({ code: 'delivery_refused', status, message });
}

function unreachable(url: string, why: string, cause?: unknown): AppError {
  const message = `there is no server at ${url}: ${why}; start "service serve", or set another address with --url`;
  return new AppError({ code: 'server_unreachable', status: 503, message, cause });
}
