import { setTimeout as delay } from 'node:timers/promises';
import type { MessengerSettings } from '../platform/channel-settings.ts';
import { Secret } from '../platform/secret.ts';
import { faultsOf } from '../platform/upstream/classify.ts';
import { type HttpReply, HttpUpstream } from '../platform/upstream/transport.ts';
import { causeOf } from '../platform/upstream/upstream-errors.ts';
import { UpstreamFault } from '../platform/upstream/upstream-fault.ts';

/** Fields of a notification for the provider. */
export interface ProviderMessage {
  readonly channel_id: string;
  readonly phone: string;
  readonly template_code: string;
  readonly template_args: Readonly<Record<string, string>>;
}

/** Error of a notification that the provider did not accept. */
export class NotAccepted extends Error {
  override readonly name = 'NotAccepted';
  /** Short cause: `connection`, `timeout`, `http_422`, `invalid_answer`. */
  readonly reason: string;
  /** True if the provider may still have sent the notification. */
  readonly isUncertain: boolean;

  constructor(reason: string, isUncertain: boolean, cause: unknown) {
    super(`not accepted: ${reason}`, { cause });
    this.reason = reason;
    this.isUncertain = isUncertain;
  }
}

export interface MessengerProvider {
  /** Send a notification and return the provider's id of it. Throws `NotAccepted`. */
  send(restApiKey: string, message: ProviderMessage): Promise<string>;
  close(): Promise<void>;
}

/** Delays before retries of a request that failed to connect. */
const RETRY_DELAYS_MS = [200, 800];
const CONNECTIONS_MAX = 32;
const ANSWER_BYTES_MAX = 64 * 1024;
const MESSAGE_ID_CHARS_MAX = 512;

export function openMessengerProvider(settings: MessengerSettings): MessengerProvider {
  const { origin, pathname } = new URL(settings.url);
  const upstream = new HttpUpstream(origin, { connectionsMax: CONNECTIONS_MAX });
  const toFault = faultsOf();

  const post = async (restApiKey: string, message: ProviderMessage, timeoutMs: number): Promise<string> => {
    const reply = await upstream.call({
      method: 'POST',
      path: pathname,
      body: JSON.stringify(message),
      timeoutMs,
      headers: { authorization: `${settings.authScheme} ${restApiKey}`, accept: 'application/json' },
      bodyBytesMax: ANSWER_BYTES_MAX,
      // A client that leaves does not abort the request, since its outcome must be recorded.
      signal: new AbortController().signal,
    });
    if (reply.status >= 300) throw toFault(reply.status, reply.headers, reply.body, new Secret(restApiKey));
    return messageIdOf(reply);
  };

  return {
    async send(restApiKey, message) {
      const endMs = performance.now() + settings.timeoutMs;
      for (let tries = 0; ; tries++) {
        try {
          return await post(restApiKey, message, Math.max(1, endMs - performance.now()));
        } catch (error) {
          const delayMs = RETRY_DELAYS_MS[tries];
          const canRetry = error instanceof UpstreamFault && error.isUnsent && delayMs !== undefined;
          if (!canRetry || performance.now() + delayMs >= endMs) throw notAccepted(error);
          await delay(delayMs);
        }
      }
    },
    close: () => upstream.close(),
  };
}

/**
 * Convert a fault. After a redirect or a 4xx nothing was sent. After other responses or a timeout this is uncertain.
 */
function notAccepted(error: unknown): unknown {
  if (!(error instanceof UpstreamFault)) return error;
  const isRefused = error.status !== null && error.status >= 300 && error.status < 500;
  const reason = error.status === null ? causeOf(error) : `http_${error.status}`;
  return new NotAccepted(reason, !isRefused && !error.isUnsent, error);
}

/** Read the id of the message. @throws UpstreamFault for a response without an id */
function messageIdOf({ body }: HttpReply): string {
  const { message_id: id } = parseObject(body);
  if (typeof id === 'number' && Number.isSafeInteger(id)) return String(id);
  if (typeof id === 'string' && id !== '' && id.length <= MESSAGE_ID_CHARS_MAX) return id.toWellFormed();
  throw new UpstreamFault({ kind: 'transient', code: 'invalid_answer', message: 'the answer has no message_id' });
}

function parseObject(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'));
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
