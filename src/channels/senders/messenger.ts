import { setTimeout as delay } from 'node:timers/promises';
import type { MessengerSettings } from '../../platform/channel-settings.ts';
import { Secret } from '../../platform/secret.ts';
import { faultsOf } from '../../platform/upstream/classify.ts';
import { type HttpReply, HttpUpstream } from '../../platform/upstream/transport.ts';
import { UpstreamFault } from '../../platform/upstream/upstream-fault.ts';
import type { MessengerConfig } from '../schema.ts';
import { NotAccepted } from './not-accepted.ts';
import type { OutgoingMessage, SenderConnection } from './sender.ts';
import { noAnswer } from './vendor-call.ts';

/** Delays before retries of a failed connection. */
const RETRY_DELAYS_MS = [200, 800];
const CONNECTIONS_MAX = 32;
const ANSWER_BYTES_MAX = 64 * 1024;
const MESSAGE_ID_CHARS_MAX = 512;

/** Provider of the contract's notifications. It fills templates itself and reports nothing. */
export interface MessengerSender {
  connect(config: MessengerConfig): SenderConnection;
  close(): Promise<void>;
}

export function openMessengerSender(settings: MessengerSettings): MessengerSender {
  const { origin, pathname } = new URL(settings.url);
  const upstream = new HttpUpstream(origin, { connectionsMax: CONNECTIONS_MAX });
  const toFault = faultsOf();

  const post = async (apiKey: Secret, message: object, timeoutMs: number): Promise<string> => {
    const reply = await upstream.call({
      method: 'POST',
      path: pathname,
      body: JSON.stringify(message),
      timeoutMs,
      headers: { authorization: `${settings.authScheme} ${apiKey.reveal()}`, accept: 'application/json' },
      bodyBytesMax: ANSWER_BYTES_MAX,
      // Don't abort when the client disconnects, since the outcome must be recorded.
      signal: new AbortController().signal,
    });
    if (reply.status >= 300) throw toFault(reply.status, reply.headers, reply.body, apiKey);
    return messageIdOf(reply);
  };

  return {
    connect({ rest_api_key, channel_id }) {
      const apiKey = new Secret(rest_api_key);
      return {
        async send(message) {
          const body = bodyOf(channel_id, message);
          const endMs = performance.now() + settings.timeoutMs;
          for (let tries = 0; ; tries++) {
            try {
              return await post(apiKey, body, Math.max(1, endMs - performance.now()));
            } catch (error) {
              const delayMs = RETRY_DELAYS_MS[tries];
              const canRetry = error instanceof UpstreamFault && error.isUnsent && delayMs !== undefined;
              if (!canRetry || performance.now() + delayMs >= endMs) throw notAccepted(error);
              await delay(delayMs);
            }
          }
        },
      };
    },
    close: () => upstream.close(),
  };
}

function bodyOf(channelId: string, { phone, templateCode, args }: OutgoingMessage): object {
  return { channel_id: channelId, phone, template_code: templateCode, template_args: args };
}

/**
 * Convert an error. After a redirect or a 4xx, nothing was sent. After other responses or a timeout, this is uncertain.
 */
function notAccepted(error: unknown): unknown {
  if (!(error instanceof UpstreamFault) || error.status === null) return noAnswer(error);
  const isRefused = error.status >= 300 && error.status < 500;
  return new NotAccepted(isRefused ? 'refused' : 'unknown', `http_${error.status}`, { cause: error });
}

/** Extract the message id. @throws UpstreamFault for a response without an id */
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
