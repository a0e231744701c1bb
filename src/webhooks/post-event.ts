import type { Agent } from 'undici';
import { startDeadline } from '../platform/deadline.ts';
import { NETWORK_REASONS } from '../platform/network-reasons.ts';
import { AddressRefused } from '../platform/outbound/guarded-agent.ts';

/** Time limit of a request. Standard Webhooks recommends 15 to 30 seconds. */
export const REQUEST_MS = 15_000;
/** Maximum pause that a receiver may request. */
const RETRY_AFTER_MS_MAX = 3_600_000;
/** Maximum bytes of a response to read, so that its connection can be reused. */
const DISCARDED_BYTES_MAX = 64 * 1024;

const GONE = 410;
/** Status codes of a receiver that is down or overloaded. */
const DOWN_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Result of a request. `replyStatus` is null without a response. */
export type PostOutcome =
  | { readonly kind: 'accepted'; readonly replyStatus: number }
  | {
      /** `refused`: this event failed. `down`: others would fail too. `gone`: the receiver wants no more events. */
      readonly kind: 'refused' | 'down' | 'gone';
      readonly replyStatus: number | null;
      readonly error: string;
      /** Pause requested by the receiver, or null. */
      readonly retryAfterMs: number | null;
    };

/**
 * Post an event to a receiver, without following redirects.
 * @throws the reason of the signal
 */
export async function postEvent(
  agent: Agent,
  target: { readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly payload: string },
  signal: AbortSignal,
): Promise<PostOutcome> {
  const url = new URL(target.url);
  const deadline = startDeadline(REQUEST_MS, signal);
  try {
    const { statusCode, headers, body } = await agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'service-webhooks/1', ...target.headers },
      body: target.payload,
      signal: deadline.signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    await body.dump({ limit: DISCARDED_BYTES_MAX }).catch(() => undefined);
    return outcomeOf(statusCode, headers['retry-after']);
  } catch (error) {
    signal.throwIfAborted();
    return { kind: 'down', replyStatus: null, error: reasonOf(error), retryAfterMs: null };
  } finally {
    deadline.clear();
  }
}

function outcomeOf(replyStatus: number, retryAfter: string | string[] | undefined): PostOutcome {
  if (replyStatus >= 200 && replyStatus < 300) return { kind: 'accepted', replyStatus };
  const retryAfterMs = typeof retryAfter === 'string' ? parseRetryAfter(retryAfter) : null;
  const error =
    replyStatus >= 300 && replyStatus < 400
      ? `it answers with the redirect ${replyStatus}, which the service does not follow; change the URL of the webhook`
      : `it answers ${replyStatus}`;
  if (replyStatus === GONE) return { kind: 'gone', replyStatus, error, retryAfterMs };
  return { kind: DOWN_STATUSES.has(replyStatus) ? 'down' : 'refused', replyStatus, error, retryAfterMs };
}

/** Parse a `Retry-After` header (RFC 9110, section 10.2.3), seconds or a date, into bounded milliseconds. */
function parseRetryAfter(header: string): number | null {
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), RETRY_AFTER_MS_MAX);
}

/** Describe a request error. Don't name addresses of the internal network, since every user can read the list. */
function reasonOf(error: unknown): string {
  if (error instanceof AddressRefused) {
    return 'its address is in a network of the operator or a reserved one; to allow it, list its network under webhooks.networks in service.yaml';
  }
  const { name, code } = error as { name?: string; code?: unknown };
  if (name === 'TimeoutError') return `it takes longer than ${REQUEST_MS / 1_000} s`;
  const key = typeof code === 'string' ? code : (name ?? 'unknown');
  const reason = NETWORK_REASONS[key];
  return reason === undefined ? `the request failed (${key})` : `${reason} (${key})`;
}
