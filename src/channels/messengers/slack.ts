import { createHmac, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { Secret } from '../../platform/secret.ts';
import type { HttpReply } from '../../platform/upstream/transport.ts';
import { AnswerConfig } from '../schema.ts';
import { jsonOf, repeatable, stringField } from './judge.ts';
import {
  headerOf,
  isSameSecret,
  type LinkedPassage,
  type LinkedReply,
  type Messenger,
  textsOf,
  type Verdict,
} from './messenger.ts';

const TIMESTAMP_HEADER = 'x-slack-request-timestamp';
const SIGNATURE_HEADER = 'x-slack-signature';
const WINDOW_SECONDS = 300;
/** Message length recommended by Slack, which truncates texts of more than 40,000 characters. */
const TEXT_CHARS_MAX = 4_000;
/** Age after which a reply is useless. Slack itself sets no limit. */
const LIMIT_MS = 5 * 60_000;
const GAP = '\n\n';
/** Errors of `chat.postMessage` after which the message may have been posted. */
const UNCERTAIN = new Set(['fatal_error', 'internal_error', 'request_timeout', 'service_unavailable']);
const RATE_LIMITED = new Set(['ratelimited', 'rate_limited']);

const SlackConfig = AnswerConfig.extend({
  secret: z
    .string({ error: 'is required: the signing secret under Basic Information of the app' })
    .regex(/^[A-Za-z0-9]{16,128}$/, 'must be the signing secret of the app')
    .describe('signing secret of the app'),
  bot_token: z
    .string({ error: 'is required: the bot user OAuth token under OAuth & Permissions of the app' })
    .regex(/^xoxb-[A-Za-z0-9-]{8,250}$/, 'must be a bot token, which begins with xoxb-')
    .describe('bot user OAuth token with the scope chat:write'),
});
type SlackConfig = z.output<typeof SlackConfig>;

const EventCallback = z.object({
  type: z.literal('event_callback'),
  event_id: z.string().min(1).max(200),
  event: z.object({
    type: z.enum(['app_mention', 'message']),
    channel_type: z.string().optional(),
    subtype: z.never().optional(),
    bot_id: z.never().optional(),
    text: z.string().min(1),
    channel: z.string().min(1).max(200).optional(),
    ts: z.string().min(1).max(100),
    thread_ts: z.string().min(1).max(100).optional(),
  }),
});
const Place = z.object({ channel: z.string(), thread_ts: z.string() });

/**
 * Slack app with the Events API (docs.slack.dev: apis/events-api, authentication/verifying-requests-from-slack,
 * reference/methods/chat.postMessage, messaging/formatting-message-text, read in November 2026). Slack waits three
 * seconds. It repeats an event immediately, after one minute and after five, with the same `event_id`. The reply is
 * posted in the question's thread.
 */
export const slack: Messenger<SlackConfig> = {
  provider: 'slack',
  config: SlackConfig,
  isFreeFormAllowed: true,
  pathOf: (id) => `/v1/channels/slack/${id}`,
  isGenuine(delivery, { secret }, nowMs) {
    const timestamp = headerOf(delivery, TIMESTAMP_HEADER);
    const isSigned = isSameSecret(headerOf(delivery, SIGNATURE_HEADER), signatureOf(secret, timestamp, delivery.bytes));
    const ageSeconds = Math.abs(Math.floor(nowMs / 1000) - Number(timestamp));
    return isSigned && /^\d{1,12}$/.test(timestamp) && ageSeconds <= WINDOW_SECONDS;
  },
  readQuestions(json) {
    const callback = EventCallback.safeParse(json);
    if (!callback.success) return [];
    const { event_id: deliveryId, event } = callback.data;
    if (event.type === 'message' && event.channel_type !== 'im') return [];
    const text = plainText(event.text);
    return text === '' ? [] : [{ text, deliveryId, replyTo: placeOf(event) }];
  },
  toResponse: (reply) => ({ text: renderReply(reply) }),
  toNothing: (json) => {
    const challenge = json['type'] === 'url_verification' ? stringField(json, 'challenge') : null;
    return challenge === null ? {} : { challenge };
  },
  later: {
    limitMs: LIMIT_MS,
    when: () => 'always',
    acknowledge: () => ({}),
    origins: ({ slack: url }) => [new URL(url).origin],
    urlOf: (_, { slack: url }) => new Secret(`${url}/chat.postMessage`),
    toCall: (reply, replyTo, { bot_token }) => ({
      authorization: new Secret(`Bearer ${bot_token}`),
      body: {
        ...Place.parse(JSON.parse(replyTo.reveal())),
        text: renderReply(reply),
        unfurl_links: false,
        unfurl_media: false,
      },
    }),
    judge: judgePost,
    probe: ({ bot_token }, { slack: url }) => ({
      url: new Secret(`${url}/auth.test`),
      call: { authorization: new Secret(`Bearer ${bot_token}`), body: {} },
    }),
  },
  steps: [
    'OAuth & Permissions: add the bot token scopes app_mentions:read, im:history and chat:write, and install the app.',
    'Event Subscriptions: enter the address as the Request URL, and subscribe to the bot events app_mention and message.im.',
    'App Home: allow people to send messages from the Messages tab. In channels, invite the app and mention it.',
  ],
  makeDelivery(text, { secret }) {
    const event = { type: 'message', channel_type: 'im', text, ts: '1.1' };
    const body = JSON.stringify({ type: 'event_callback', event_id: `test-${randomUUID()}`, event });
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = signatureOf(secret, timestamp, Buffer.from(body));
    return { body, headers: { [TIMESTAMP_HEADER]: timestamp, [SIGNATURE_HEADER]: signature } };
  },
  readText: (response) => unescapeText(z.object({ text: z.string() }).parse(response).text),
};

/** Compute `v0=` and the hexadecimal HMAC-SHA-256 of `v0:<timestamp>:<body>`. */
function signatureOf(secret: string, timestamp: string, bytes: Buffer): string {
  return `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:`).update(bytes).digest('hex')}`;
}

/** Return where to post the reply; null for a test delivery, which has no channel, so its reply is the response. */
function placeOf({ channel, ts, thread_ts }: z.output<typeof EventCallback>['event']): Secret | null {
  return channel === undefined ? null : new Secret(JSON.stringify({ channel, thread_ts: thread_ts ?? ts }));
}

/** Return a message's text without mentions, with links and entities as plain text. */
function plainText(text: string): string {
  const plain = text
    .replace(/<[@!][^>]*>/g, ' ')
    .replace(/<([^|>]*)(?:\|([^>]*))?>/g, (_, to: string, label) => label ?? to);
  return unescapeText(plain).replace(/\s+/g, ' ').trim();
}

/** Render a reply as mrkdwn within the recommended length, with links to passages that have URLs. */
function renderReply(reply: LinkedReply): string {
  const isLinked = reply.passages.length > 0 && reply.passages.every(({ url }) => url !== null);
  const parts = isLinked ? linkedParts(reply) : textsOf(reply).map(escapeText);
  let text = parts[0] ?? '';
  for (const part of parts.slice(1)) {
    if (text.length + GAP.length + part.length > TEXT_CHARS_MAX) break;
    text += GAP + part;
  }
  return text;
}

/** Render passages with links, or an answer with links to its sources. */
function linkedParts({ answer, passages }: LinkedReply): string[] {
  if (answer === undefined) return passages.map(renderPassage);
  const sources = passages.map(({ number, source, url }) => `[${number}] <${url}|${escapeText(source)}>`);
  return [escapeText(answer), sources.join('\n')];
}

function renderPassage({ score, text, source, url }: LinkedPassage, index: number): string {
  return `${index + 1}. [${score.toFixed(2)}] ${escapeText(text)}\n<${url}|${escapeText(source)}>`;
}

/** Escape the control characters of mrkdwn, so that a document can't insert links or notify people. */
function escapeText(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

function unescapeText(text: string): string {
  return text.replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&amp;/g, '&');
}

/** Judge by `ok` and `error` in the body. After a 429, the message was not posted. */
function judgePost(answer: HttpReply): Verdict {
  if (answer.status === 429) return repeatable(answer);
  if (answer.status >= 500) return { kind: 'uncertain', reason: `http_${answer.status}` };
  if (answer.status >= 300) return { kind: 'refused', reason: `http_${answer.status}` };
  const json = jsonOf(answer);
  if (z.object({ ok: z.literal(true) }).safeParse(json).success) return { kind: 'taken' };
  const error = stringField(json, 'error');
  if (error === null || !/^[a-z_]{1,64}$/.test(error)) return { kind: 'uncertain', reason: 'invalid_answer' };
  if (RATE_LIMITED.has(error)) return { kind: 'again', reason: error, afterMs: null };
  return { kind: UNCERTAIN.has(error) ? 'uncertain' : 'refused', reason: error };
}
