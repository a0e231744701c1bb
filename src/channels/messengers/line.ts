import { createHmac, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { Secret } from '../../platform/secret.ts';
import type { HttpReply } from '../../platform/upstream/transport.ts';
import { AnswerConfig, type ChannelReply } from '../schema.ts';
import { repeatable } from './judge.ts';
import { type AskedQuestion, headerOf, isSameSecret, type Messenger, textsOf, type Verdict } from './messenger.ts';

const SIGNATURE_HEADER = 'x-line-signature';
/** Time for which a reply token works after a delivery. */
const LIMIT_MS = 60_000;
const EVENTS_MAX = 100;

const LineConfig = AnswerConfig.extend({
  secret: z
    .string({ error: 'is required: the channel secret under Basic settings of the channel' })
    .regex(/^[A-Za-z0-9]{16,128}$/, 'must be the channel secret')
    .describe('channel secret'),
  access_token: z
    .string({ error: 'is required: the channel access token under Messaging API of the channel' })
    .regex(/^[A-Za-z0-9+/=._-]{20,1024}$/, 'must be the channel access token')
    .describe('channel access token'),
});
type LineConfig = z.output<typeof LineConfig>;

const Mentionee = z.object({ index: z.int().min(0), length: z.int().min(0), isSelf: z.boolean().optional() });
const MessageEvent = z.object({
  type: z.literal('message'),
  mode: z.literal('active').optional(),
  webhookEventId: z.string().min(1).max(200),
  replyToken: z.string().min(1).max(200).optional(),
  source: z.object({ type: z.enum(['user', 'group', 'room']) }),
  message: z.object({
    type: z.literal('text'),
    text: z.string().min(1),
    mention: z.object({ mentionees: z.array(Mentionee) }).optional(),
  }),
});
type MessageEvent = z.output<typeof MessageEvent>;
const Webhook = z.object({ events: z.array(z.unknown()) });

/**
 * LINE channel with the Messaging API (developers.line.biz: reference/messaging-api, sections "Webhooks", "Signature
 * validation" and "Send reply message", read in November 2026). A webhook delivers several events. If redelivery is on,
 * LINE repeats it with the same `webhookEventId`. A reply token works once and for one minute. A reply has at most five
 * messages of up to 5,000 characters. In groups, the bot answers messages that mention it.
 */
export const line: Messenger<LineConfig> = {
  provider: 'line',
  config: LineConfig,
  isFreeFormAllowed: true,
  pathOf: (id) => `/v1/channels/line/${id}`,
  isGenuine: (delivery, { secret }) =>
    isSameSecret(headerOf(delivery, SIGNATURE_HEADER), signatureOf(secret, delivery.bytes)),
  readQuestions(json) {
    const webhook = Webhook.safeParse(json);
    if (!webhook.success) return [];
    return webhook.data.events.slice(0, EVENTS_MAX).flatMap((each) => {
      const event = MessageEvent.safeParse(each);
      return event.success ? readEvent(event.data) : [];
    });
  },
  toResponse: (reply) => ({ messages: toMessages(reply) }),
  toNothing: () => ({}),
  later: {
    limitMs: LIMIT_MS,
    when: () => 'always',
    acknowledge: () => ({}),
    origins: ({ line: url }) => [new URL(url).origin],
    urlOf: (_, { line: url }) => new Secret(`${url}/v2/bot/message/reply`),
    toCall: (reply, replyTo, { access_token }) => ({
      authorization: new Secret(`Bearer ${access_token}`),
      body: { replyToken: replyTo.reveal(), messages: toMessages(reply) },
    }),
    judge: judgeReply,
    probe: ({ access_token }, { line: url }) => ({
      url: new Secret(`${url}/v2/bot/info`),
      call: { authorization: new Secret(`Bearer ${access_token}`), body: null },
    }),
  },
  steps: [
    'Messaging API tab of the channel: enter the address as the Webhook URL, verify it, and switch on Use webhook and Webhook redelivery.',
    'LINE Official Account Manager > Response settings: switch off auto-response messages.',
    'To answer in groups, allow the bot to join group chats. It answers messages that mention it.',
  ],
  makeDelivery(text, { secret }) {
    const event = { type: 'message', webhookEventId: `test-${randomUUID()}`, source: { type: 'user' } };
    const body = JSON.stringify({ destination: 'test', events: [{ ...event, message: { type: 'text', text } }] });
    return { body, headers: { [SIGNATURE_HEADER]: signatureOf(secret, Buffer.from(body)) } };
  },
  readText: (response) =>
    z
      .object({ messages: z.array(z.object({ text: z.string() })) })
      .parse(response)
      .messages.map(({ text }) => text)
      .join('\n\n'),
};

/** Compute the HMAC-SHA-256 of the body in base64. */
function signatureOf(secret: string, bytes: Buffer): string {
  return createHmac('sha256', secret).update(bytes).digest('base64');
}

/** Convert an event. A test delivery has no reply token, so its reply is the response. */
function readEvent({ webhookEventId: deliveryId, replyToken, source, message }: MessageEvent): AskedQuestion[] {
  const own = message.mention?.mentionees.filter(({ isSelf }) => isSelf) ?? [];
  if (source.type !== 'user' && own.length === 0) return [];
  const text = without(message.text, own).replace(/\s+/g, ' ').trim();
  return text === '' ? [] : [{ text, deliveryId, replyTo: replyToken === undefined ? null : new Secret(replyToken) }];
}

/** Remove mentions from a text. Their positions are in UTF-16 units. */
function without(text: string, mentions: readonly z.output<typeof Mentionee>[]): string {
  const last = mentions.toSorted((a, b) => b.index - a.index);
  return last.reduce((rest, { index, length }) => `${rest.slice(0, index)} ${rest.slice(index + length)}`, text);
}

function toMessages(reply: ChannelReply): object[] {
  return textsOf(reply).map((text) => ({ type: 'text', text }));
}

/** Judge by status code. On an error, LINE sends no message. A reply token works only once. */
function judgeReply(answer: HttpReply): Verdict {
  if (answer.status === 429 || answer.status >= 500) return repeatable(answer);
  return answer.status < 300 ? { kind: 'taken' } : { kind: 'refused', reason: `http_${answer.status}` };
}
