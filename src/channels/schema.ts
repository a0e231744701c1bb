import { z } from 'zod';
import { isPlainName, PLAIN_NAME_RULE } from '../platform/printable.ts';
import { textInteger } from '../platform/zod-integers.ts';

/** Provider that delivers messages and sends notifications. */
export const MESSENGER = 'messenger';

/** Build a text schema with its own messages, since a configuration is parsed separately from its request. */
function text(charsMax: number) {
  return z
    .string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be a string') })
    .max(charsMax, `must have at most ${charsMax} characters`)
    .refine((value) => value.trim() !== '', { error: 'must not be empty', abort: true });
}

function plainText(charsMax: number) {
  return text(charsMax)
    .refine((value) => value.isWellFormed(), { error: 'must be well-formed Unicode', abort: true })
    .refine(isPlainName, PLAIN_NAME_RULE);
}

/** Schema of a credential sent in a header, which allows only printable ASCII. */
const headerCredential = text(4096).refine(
  (value) => /^[\x21-\x7e]+$/.test(value),
  'must be printable ASCII without spaces',
);

/** Fields of a configuration that answers questions from a bucket. */
export const AnswerConfig = z.object({
  collection: plainText(128).describe('name or id of the bucket to search'),
  bucket_collection: plainText(128).optional().describe('name or id of a collection of the bucket; limits the search'),
  public_only: z
    .boolean({ error: 'must be true or false' })
    .default(false)
    .describe('answer only from documents with public_accessible'),
  score_min: z
    .number({ error: 'must be a number' })
    .min(0, 'must be at least 0')
    .max(1, 'must be at most 1')
    .default(0.1)
    .describe('hide results with a lower score'),
});
export type AnswerConfig = z.output<typeof AnswerConfig>;

/** `config` of the messenger provider (contract 2.5). Fields of `AnswerConfig` except `collection` are extensions. */
export const MessengerConfig = z.object({
  rest_api_key: headerCredential,
  channel_id: plainText(200),
  admin_key: text(4096).optional(),
  ...AnswerConfig.shape,
  bot_id: plainText(128),
  secret: text(1024).describe('HMAC secret of the webhook'),
});
export type MessengerConfig = z.output<typeof MessengerConfig>;

/** Query of `GET /v1/channels/configs`. The response is an array, so a full page may have a successor. */
export const ListChannelsQuery = z.object({
  limit: textInteger(z.int().min(1).max(1000).default(1000)),
  cursor: z
    .string()
    .max(128)
    .regex(/^(?:chn_\w+)?$/, 'must be the id of a configuration')
    .optional()
    .describe('id of the last configuration of the previous page')
    .transform((cursor) => cursor || undefined),
});
export type ListChannelsQuery = z.output<typeof ListChannelsQuery>;

/** Body of `POST /v1/channels/configs`. The fields of `config` depend on the provider: `createChannel` checks them. */
export const CreateChannel = z.object({
  name: z.string().trim().min(1, 'must not be empty').max(100).refine(isPlainName, PLAIN_NAME_RULE),
  provider: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,63}$/, 'must be lower-case letters, digits, "_" and "-", such as "messenger"'),
  config: z
    .record(z.string(), z.unknown())
    .describe(
      'fields of the provider; messenger, kakao, telegram, teams, slack, line, sens, solapi and nhn have their own',
    ),
});
export type CreateChannel = z.output<typeof CreateChannel>;

export const CreatedChannel = z.object({
  id: z.string(),
  name: z.string(),
  provider: z.string(),
  webhook_path: z
    .string()
    .optional()
    .describe('path to register with the platform; it may contain a secret, and only this response shows it'),
});
export type CreatedChannel = z.output<typeof CreatedChannel>;

/** Listed configuration, with every credential in `config` masked. */
export const ChannelView = CreatedChannel.omit({ webhook_path: true })
  .extend({ config: z.record(z.string(), z.unknown()) })
  .meta({
    id: 'ChannelConfig',
  });
export type ChannelView = z.output<typeof ChannelView>;

/** Body of a webhook delivery (contract 4.10). */
export const Delivery = z.object({
  bot_id: z.string(),
  user_id: z.string().min(1, 'must not be empty').max(512),
  utterance: z.string().min(1, 'must not be empty'),
});
export type Delivery = z.output<typeof Delivery>;

export const OUTPUTS_MAX = 3;
export const OUTPUT_CHARS_MAX = 1000;

/** Reply to a delivery, in the messenger's simple-text format. */
export const ChannelReply = z
  .object({
    version: z.literal('2.0'),
    template: z.object({
      outputs: z
        .array(z.object({ simpleText: z.object({ text: z.string().min(1).max(OUTPUT_CHARS_MAX) }) }))
        .min(1)
        .max(OUTPUTS_MAX),
    }),
  })
  .meta({ id: 'ChannelReply' });
export type ChannelReply = z.output<typeof ChannelReply>;

/** Passage of a reply, for platforms that show it as a card. */
export interface ReplyPassage {
  /** Number under which an answer cites it; undefined for its position in the list. */
  readonly number?: number;
  readonly score: number;
  readonly text: string;
  /** File and page, such as `manual.pdf, p. 3`. */
  readonly source: string;
  readonly documentId: string;
  readonly chunkIndex: number;
}

/** Reply to a question, with the passages that it quotes. */
export interface AnswerReply extends ChannelReply {
  /** Passages; undefined if there are none, and in replies stored by an earlier release. */
  readonly passages?: readonly ReplyPassage[];
  /** Text of a chat model that cites passages by number; undefined if the reply consists of the passages. */
  readonly answer?: string;
}

const ARGUMENTS_MAX = 64;

/** Fallback text message that an Alimtalk vendor sends if KakaoTalk doesn't deliver the notification. */
export const ResendOptions = z.object({
  resend: z
    .boolean()
    .optional()
    .describe('send a text message if KakaoTalk does not deliver; default: as the configuration says'),
  resend_text: z
    .string()
    .min(1)
    .max(2000)
    .optional()
    .describe('content of the text message; default: the text of the notification'),
  resend_title: z
    .string()
    .min(1)
    .max(40)
    .refine(isPlainName, PLAIN_NAME_RULE)
    .optional()
    .describe('title of a long text'),
});
export type ResendOptions = z.output<typeof ResendOptions>;

/** Body of `POST /v1/channels/messenger/send`. Fields after `template_args` are extensions. */
export const SendRequest = z.object({
  channel_config_id: z.string().min(1, 'must not be empty'),
  phone: z
    .string()
    .regex(/^(?:\+[1-9][0-9]{6,14}|[0-9]{7,15})$/, 'must be in E.164 form (+821012345678) or national digits'),
  template_code: z.string().min(1, 'must not be empty').max(200).refine(isPlainName, PLAIN_NAME_RULE),
  template_args: z
    .record(z.string().min(1).max(100), z.string().max(2000))
    .refine((args) => Object.keys(args).length <= ARGUMENTS_MAX, `must have at most ${ARGUMENTS_MAX} keys`)
    .meta({ maxProperties: ARGUMENTS_MAX })
    .default({}),
  ...ResendOptions.shape,
  dry_run: z.boolean().optional().describe('check and render the notification without sending it'),
});
export type SendRequest = z.output<typeof SendRequest>;

const Sent = z.object({
  status: z.literal('sent'),
  result: z.object({ message_id: z.string(), sent_at: z.int().describe('milliseconds since 1970') }),
});

/** Response to a request with `dry_run`. */
export const DryRun = z.object({
  status: z.literal('dry_run'),
  result: z.object({
    provider: z.string(),
    phone: z.string().describe('phone number as sent to the vendor'),
    text: z.string().nullable().describe('text with its variables replaced; null if the provider lists no templates'),
    resend: z.object({ type: z.enum(['SMS', 'LMS']), from: z.string(), text: z.string() }).nullable(),
  }),
});
export type DryRun = z.output<typeof DryRun>;

export const SendReply = z.discriminatedUnion('status', [Sent, DryRun]);
export type SendReply = z.output<typeof SendReply>;

/** Record of a notification, as shown by `service channels outbox`. */
export const NotificationRecord = z.object({
  id: z.string(),
  channel_config_id: z.string(),
  via: z.enum(['provider', 'outbox']),
  status: z
    .enum(['queued', 'sending', 'accepted', 'delivered', 'failed'])
    .describe('queued: will be sent again; accepted: the provider accepted it; delivered: the person received it'),
  reason: z.string().nullable().describe('reason for a failure or for the wait, in the words of the vendor'),
  uncertain: z.boolean().describe('true: the provider may have sent the notification although it is queued or failed'),
  message_id: z.string().nullable(),
  phone: z.string(),
  template_code: z.string(),
  template_args: z.record(z.string(), z.string()),
  requested_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
  next_attempt_at: z.iso.datetime().nullable().describe('time at which a queued notification is tried again'),
  delivered_at: z.iso.datetime().nullable(),
});
export type NotificationRecord = z.output<typeof NotificationRecord>;

export const DeliveryOutcome = z.enum([
  'answered',
  'nothing_found',
  'no_question',
  'rate_limited',
  'too_slow',
  'unavailable',
]);
export type DeliveryOutcome = z.output<typeof DeliveryOutcome>;
