import { createHmac, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { FakeMessenger, type MessageSeen } from './fake-messenger.ts';
import { until } from './until.ts';

/** Platform: how it sends deliveries, and where its replies contain the text. */
export interface Platform {
  readonly config: Record<string, unknown>;
  /** Delivery of a question. Each number gives a different delivery. */
  body(text: string, number: number): object;
  /** Headers of a delivery, given the secret. @param at seconds since 1970 */
  headers(secret: string, bytes: string, at?: number): Record<string, string>;
  readonly path: RegExp;
  textOf(response: never): string;
  /** Path at the platform to which replies are posted; undefined if the response is the reply. */
  readonly calls?: string;
  /** True if the platform resends a delivery that wasn't answered. */
  readonly repeats: boolean;
  readonly charsMax: number;
  /** Deliveries that contain no question. */
  readonly silent: readonly object[];
}

export const TEAMS_TOKEN = randomBytes(32).toString('base64');
export const SLACK_SECRET = randomBytes(16).toString('hex');
export const SLACK_TOKEN = `xoxb-${randomBytes(20).toString('hex')}`;
export const LINE_SECRET = randomBytes(16).toString('hex');
export const LINE_TOKEN = randomBytes(60).toString('base64');

/** SkillPayload of Kakao (skill guide, answer_json_format). */
export const kakaoBody = (utterance: string, callbackUrl?: string) => ({
  intent: { id: 'block-1', name: 'search' },
  userRequest: {
    timezone: 'Asia/Seoul',
    params: {},
    block: { id: 'block-1', name: 'search' },
    utterance,
    lang: 'ko',
    user: { id: '620678', type: 'botUserKey', properties: { plusfriendUserKey: 'BlGTEYoiNoSh' } },
    ...(callbackUrl === undefined ? {} : { callbackUrl }),
  },
  contexts: [],
  bot: { id: '5a548e36', name: 'support' },
  action: { name: 'search', clientExtra: null, params: {}, id: '5a56ebaa', detailParams: {} },
});
export const telegramBody = (text: string, number: number) => ({
  update_id: number,
  message: { message_id: 7, from: { id: 1, is_bot: false }, chat: { id: -42, type: 'group' }, date: 1, text },
});
export const teamsBody = (text: string, number: number) => ({
  type: 'message',
  id: String(1_745_700_000_000 + number),
  text: `<p><at>support</at>&nbsp;${text}</p>`,
  from: { id: '29:1', name: 'A person' },
  conversation: { id: '19:channel' },
});
/** Event of Slack (docs.slack.dev, reference/events/app_mention). */
export const slackBody = (text: string, number: number, event: object = {}) => ({
  token: 'ZZZZZZWSxiZZZ2yIvs3peJ',
  team_id: 'T123ABC456',
  api_app_id: 'A123ABC456',
  type: 'event_callback',
  event_id: `Ev${number}`,
  event_time: 1_515_449_522,
  event: {
    type: 'app_mention',
    user: 'U061F7AUR',
    text: `<@U0LAN0Z89> ${text}`,
    ts: '1515449522.000016',
    channel: `C-${number}-`,
    event_ts: '1515449522000016',
    ...event,
  },
});
/** Event of LINE (developers.line.biz, Messaging API reference, "Message event"). */
export const lineEvent = (text: string, number: number, part: object = {}) => ({
  type: 'message',
  message: { type: 'text', id: '573052424819310747', quoteToken: 'q', text },
  webhookEventId: `01H${number}`,
  deliveryContext: { isRedelivery: false },
  timestamp: 1_754_397_166_222,
  source: { type: 'user', userId: 'U8d55942f87f2155f24550b7fe6eac9c0' },
  replyToken: `C-${number}-`,
  mode: 'active',
  ...part,
});
export const lineBody = (...events: readonly object[]) => ({
  destination: 'Ucb2c792cebe7c9ba974a01d62b0e8b24',
  events,
});

export function slackHeaders(
  secret: string,
  bytes: string,
  at = Math.floor(Date.now() / 1000),
): Record<string, string> {
  const signature = createHmac('sha256', secret).update(`v0:${at}:${bytes}`).digest('hex');
  return { 'X-Slack-Request-Timestamp': String(at), 'X-Slack-Signature': `v0=${signature}` };
}

export function lineHeaders(secret: string, bytes: string): Record<string, string> {
  return { 'X-Line-Signature': createHmac('sha256', secret).update(bytes).digest('base64') };
}

interface SkillResponse {
  readonly version: string;
  readonly template: { readonly outputs: readonly { readonly simpleText: { readonly text: string } }[] };
}

export const PLATFORMS: Record<string, Platform> = {
  kakao: {
    config: {},
    body: (text) => kakaoBody(text),
    headers: () => ({}),
    path: /^\/v1\/channels\/kakao\/chn_\w+\/[\w-]{32}$/,
    textOf: ({ version, template }: SkillResponse) =>
      `${version === '2.0' ? '' : version}${template.outputs.map(({ simpleText }) => simpleText.text).join('\n\n')}`,
    repeats: false,
    charsMax: 3_004,
    silent: [{}, kakaoBody('')],
  },
  telegram: {
    config: { secret: 'a_secret_token-of-the-bot' },
    body: telegramBody,
    headers: (secret) => ({ 'X-Telegram-Bot-Api-Secret-Token': secret }),
    path: /^\/v1\/channels\/telegram\/chn_\w+$/,
    textOf: ({ text }: { text: string }) => text,
    repeats: true,
    charsMax: 4_096,
    silent: [
      { update_id: 1, edited_message: { message_id: 7 } },
      telegramBody('/start', 2),
      { update_id: 3, message: { ...telegramBody('a bot', 3).message, from: { id: 2, is_bot: true } } },
    ],
  },
  teams: {
    config: { secret: TEAMS_TOKEN },
    body: teamsBody,
    headers: (secret, bytes) => ({
      Authorization: `HMAC ${createHmac('sha256', Buffer.from(secret, 'base64')).update(bytes).digest('base64')}`,
    }),
    path: /^\/v1\/channels\/teams\/chn_\w+$/,
    textOf: ({ text }: { text: string }) => text,
    repeats: true,
    charsMax: 28_000,
    silent: [{ type: 'conversationUpdate', id: '1' }, teamsBody('', 2)],
  },
  slack: {
    config: { secret: SLACK_SECRET, bot_token: SLACK_TOKEN },
    body: slackBody,
    headers: slackHeaders,
    path: /^\/v1\/channels\/slack\/chn_\w+$/,
    textOf: ({ text }: { text: string }) => text,
    calls: '/api/chat.postMessage',
    repeats: true,
    charsMax: 4_000,
    silent: [
      { type: 'url_verification', challenge: 'c' },
      slackBody('', 1),
      slackBody('a bot', 2, { bot_id: 'B1' }),
      slackBody('edited', 3, { subtype: 'message_changed' }),
      slackBody('in a channel', 4, { type: 'message', channel_type: 'channel' }),
    ],
  },
  line: {
    config: { secret: LINE_SECRET, access_token: LINE_TOKEN },
    body: (text, number) => lineBody(lineEvent(text, number)),
    headers: lineHeaders,
    path: /^\/v1\/channels\/line\/chn_\w+$/,
    textOf: ({ messages }: { messages: { text: string }[] }) => messages.map(({ text }) => text).join('\n\n'),
    calls: '/v2/bot/message/reply',
    repeats: true,
    charsMax: 3_004,
    silent: [
      lineBody(),
      lineBody(lineEvent('waits', 1, { mode: 'standby' })),
      lineBody(lineEvent('in a group', 2, { source: { type: 'group', groupId: 'C1' } })),
      lineBody({ type: 'follow', webhookEventId: '3', replyToken: 'r', source: { type: 'user' } }),
    ],
  },
};

/** Platform responses to a reply, and to a credential check, by path. */
const TAKEN: Record<string, object> = {
  '/api/auth.test': { ok: true, team: 'Subarachnoid Workspace', user: 'bot' },
  '/v2/bot/info': { userId: 'Ub9952f8', basicId: '@216ru', displayName: 'Example' },
  '/api/chat.postMessage': { ok: true, channel: 'C1', ts: '1503435956.000247' },
  '/v2/bot/message/reply': { sentMessages: [{ id: '461230966842064897' }] },
};

/** Accept a reply as its platform does. Any other path is a callback of Kakao. */
export function takeReply(response: ServerResponse, { path }: MessageSeen): void {
  const body = TAKEN[path] ?? { taskId: 't', status: 'SUCCESS', message: '', timestamp: 1 };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Start the platforms that are called, and return the settings with their addresses. */
export async function startPlatforms() {
  const fake = await FakeMessenger.start();
  fake.answer = takeReply;
  const { origin } = fake;
  const settings = {
    kakao: { callback_origins: [origin] },
    slack: { base_url: `${origin}/api` },
    line: { base_url: origin },
  };
  return { fake, settings };
}

/** Wait for the call that brings the reply to a delivery. */
export async function callOf(fake: FakeMessenger, number: number): Promise<MessageSeen> {
  const find = () => fake.seen.find(({ body }) => JSON.stringify(body).includes(`C-${number}-`));
  await until(async () => find() !== undefined, { withinMs: 30_000, what: `a reply to delivery ${number}` });
  return find() as MessageSeen;
}
