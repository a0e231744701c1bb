import { z } from 'zod';
import type { VendorSettings } from '../../platform/channel-settings.ts';
import type { Secret } from '../../platform/secret.ts';
import { retryAfterMs } from '../../platform/upstream/retry-after.ts';
import { HttpUpstream } from '../../platform/upstream/transport.ts';
import { causeOf } from '../../platform/upstream/upstream-errors.ts';
import { UpstreamFault } from '../../platform/upstream/upstream-fault.ts';
import { safeMessage } from '../../platform/upstream/vendor-message.ts';
import { NotAccepted } from './not-accepted.ts';
import type { VendorCall, VendorReply } from './sender.ts';

const CONNECTIONS_MAX = 32;
const ANSWER_BYTES_MAX = 1024 * 1024;

/** Schema of a message id assigned by the vendor. */
export const vendorId = z.string().regex(/^[\x21-\x7e]{1,200}$/);

/** Connections to the API of one vendor, shared by all configurations. */
export interface VendorConnections {
  readonly call: VendorCall;
  close(): Promise<void>;
}

export function openVendor({ baseUrl, timeoutMs }: VendorSettings): VendorConnections {
  const { origin, pathname } = new URL(baseUrl);
  const prefix = pathname.replace(/\/$/, '');
  const upstream = new HttpUpstream(origin, { connectionsMax: CONNECTIONS_MAX });
  return {
    async call({ method, path, headers, body }) {
      try {
        const reply = await upstream.call({
          method,
          path: prefix + path,
          timeoutMs,
          bodyBytesMax: ANSWER_BYTES_MAX,
          headers: { accept: 'application/json', 'content-type': 'application/json; charset=utf-8', ...headers },
          body: body === undefined ? null : JSON.stringify(body),
          // Don't abort when the client disconnects, since the outcome must be recorded.
          signal: new AbortController().signal,
        });
        const json = parse(reply.body);
        return { status: reply.status, json, retryAfterMs: retryAfterMs(reply.headers, null) };
      } catch (error) {
        throw noAnswer(error);
      }
    },
    close: () => upstream.close(),
  };
}

/** Build a query string with percent-encoded values. */
export function queryOf(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
}

/** Convert the error of a request without a response. Without a connection, the vendor can't have accepted anything. */
export function noAnswer(error: unknown): unknown {
  if (!(error instanceof UpstreamFault)) return error;
  return new NotAccepted(error.isUnsent ? 'busy' : 'unknown', causeOf(error), { cause: error });
}

/**
 * Return the body of a success. `reason` extracts the vendor's code and message from the body of a failure.
 *
 * @throws NotAccepted for any other status: `refused` for 401 and 403, `busy` for 408, 429 and 5xx, otherwise
 *   `rejected`; `unknown` for a success without JSON
 */
export function bodyOf(
  reply: VendorReply,
  reason: (json: unknown) => string | null,
  secrets: readonly Secret[],
): unknown {
  const { status, json } = reply;
  if (status < 300) {
    if (json === undefined) throw new NotAccepted('unknown', 'invalid_answer');
    return json;
  }
  const told = status < 400 ? null : reason(json);
  const shown = told === null ? `http_${status}` : vendorReason(told, secrets);
  throw new NotAccepted(kindOf(status), shown, { retryAfterMs: reply.retryAfterMs });
}

/** Sanitize a vendor's message: one line of at most 300 characters, without credentials. */
export function vendorReason(text: string, secrets: readonly Secret[]): string {
  const safe = secrets.reduce((line, secret) => line.replaceAll(secret.reveal(), '***'), text);
  return safeMessage(safe, null);
}

function kindOf(status: number): NotAccepted['kind'] {
  if (status === 401 || status === 403) return 'refused';
  if (status === 408 || status === 429 || status >= 500) return 'busy';
  return status < 400 ? 'refused' : 'rejected';
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
