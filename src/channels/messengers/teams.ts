import { createHmac, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { phraseOf } from '../phrases.ts';
import { AnswerConfig } from '../schema.ts';
import { isSameSecret, type Messenger, textOf } from './messenger.ts';

const TeamsConfig = AnswerConfig.extend({
  secret: z
    .string({ error: 'is required: the security token that Teams shows when the outgoing webhook is made' })
    .regex(/^[A-Za-z0-9+/]{22,512}={0,2}$/, 'must be the security token of Teams, in base64')
    .describe('security token of the outgoing webhook'),
});
type TeamsConfig = z.output<typeof TeamsConfig>;

const Activity = z.object({ type: z.literal('message'), id: z.string().min(1).max(200), text: z.string().min(1) });
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ' };

/**
 * Outgoing webhook of Microsoft Teams (learn.microsoft.com, "Create Outgoing Webhooks", read in November 2026). A
 * message that mentions the webhook is posted as an activity. `Authorization: HMAC <base64>` carries the HMAC-SHA-256
 * of the body under the security token. The reply is the response.
 */
export const teams: Messenger<TeamsConfig> = {
  provider: 'teams',
  config: TeamsConfig,
  isFreeFormAllowed: false,
  pathOf: (id) => `/v1/channels/teams/${id}`,
  isGenuine({ headers, bytes }, { secret }) {
    return isSameSecret(headers.authorization ?? '', authorizationOf(bytes, secret));
  },
  readQuestions(json) {
    const activity = Activity.safeParse(json);
    if (!activity.success) return [];
    const text = plainText(activity.data.text);
    return text === '' ? [] : [{ text, deliveryId: activity.data.id, replyTo: null }];
  },
  // As plain text, a document can't insert links or images into the conversation.
  toResponse: (reply) => ({ type: 'message', textFormat: 'plain', text: textOf(reply) }),
  toNothing: () => ({ type: 'message', textFormat: 'plain', text: phraseOf('no_question', 'en') }),
  later: null,
  steps: [
    'Team > Manage team > Apps > Create an outgoing webhook: enter the address as the callback URL. Teams then shows the security token.',
  ],
  makeDelivery(text, { secret }) {
    const body = JSON.stringify({ type: 'message', id: randomUUID(), text });
    return { body, headers: { authorization: authorizationOf(body, secret) } };
  },
  readText: (response) => z.object({ text: z.string() }).parse(response).text,
};

function authorizationOf(bytes: Buffer | string, secret: string): string {
  return `HMAC ${createHmac('sha256', Buffer.from(secret, 'base64')).update(bytes).digest('base64')}`;
}

/** Return a message's text without HTML and without the webhook's mention. */
function plainText(html: string): string {
  return html
    .replace(/<at>.*?<\/at>/gs, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => ENTITIES[name] ?? ' ')
    .replace(/\s+/g, ' ')
    .trim();
}
