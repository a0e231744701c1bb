import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { AnswerConfig } from '../schema.ts';
import { headerOf, isSameSecret, type Messenger, textOf } from './messenger.ts';

const MAX_UPDATE_ID = 2 ** 31;
const SECRET_HEADER = 'x-telegram-bot-api-secret-token';

const TelegramConfig = AnswerConfig.extend({
  secret: z
    .string({ error: 'is required: choose one, and give it to setWebhook as secret_token' })
    .regex(/^[A-Za-z0-9_-]{16,256}$/, 'must be 16 to 256 letters, digits, "_" and "-"')
    .describe('secret_token of setWebhook'),
});
type TelegramConfig = z.output<typeof TelegramConfig>;

const Update = z.object({
  update_id: z.int(),
  message: z.object({
    message_id: z.int(),
    chat: z.object({ id: z.int() }),
    from: z.object({ is_bot: z.boolean() }).optional(),
    text: z.string().min(1),
  }),
});

/**
 * Telegram bot with a webhook (core.telegram.org/bots/api, setWebhook and "Making requests when getting updates", read
 * in November 2026). The response to an update is itself a `sendMessage` call, with up to 4,096 characters. Telegram
 * repeats an update until it gets a 2xx status.
 */
export const telegram: Messenger<TelegramConfig> = {
  provider: 'telegram',
  config: TelegramConfig,
  isFreeFormAllowed: false,
  pathOf: (id) => `/v1/channels/telegram/${id}`,
  isGenuine: (delivery, { secret }) => isSameSecret(headerOf(delivery, SECRET_HEADER), secret),
  readQuestions(json) {
    const update = Update.safeParse(json);
    if (!update.success || update.data.message.from?.is_bot === true) return [];
    const { update_id: id, message } = update.data;
    // In groups, a question starts with a command or the bot's name.
    const text = message.text.replace(/^(?:\/\w+(?:@\w+)?|@\w+)(?:\s+|$)/, '').trim();
    return text === '' ? [] : [{ text, deliveryId: String(id), replyTo: null }];
  },
  toResponse(reply, json) {
    const { message } = Update.parse(json);
    return {
      method: 'sendMessage',
      chat_id: message.chat.id,
      text: textOf(reply),
      reply_parameters: { message_id: message.message_id, allow_sending_without_reply: true },
    };
  },
  toNothing: () => ({}),
  later: null,
  steps: ['Call setWebhook of the Bot API with the address as url and the secret as secret_token.'],
  makeDelivery: (text, { secret }) => ({
    body: JSON.stringify({
      update_id: randomInt(MAX_UPDATE_ID),
      message: { message_id: 1, chat: { id: 1 }, from: { is_bot: false }, text },
    }),
    headers: { [SECRET_HEADER]: secret },
  }),
  readText: (response) => z.object({ text: z.string() }).parse(response).text,
};
