import { z } from 'zod';

const TIMEOUT_SECONDS_DEFAULT = 10;
/** Default deadline of a reply; messengers stop waiting after 5 s. */
const REPLY_DEADLINE_SECONDS_DEFAULT = 3.5;
const DELIVERY_DAYS_DEFAULT = 30;
const DAY_MS = 24 * 3_600_000;

/** Setting `channels.messenger`, the provider of notifications. Without `base_url` the local outbox keeps them. */
const Messenger = z
  .strictObject({
    base_url: z
      .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
      .refine((url) => !/[?#]|:\/\/[^/]*@/.test(url), 'must have no query, no fragment and no credentials')
      .optional()
      .describe('address to which notifications are posted; without it they are only recorded'),
    /** Scheme of the header `Authorization`, before the `rest_api_key` of the configuration. */
    auth_scheme: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'must be one word')
      .default('Bearer')
      .describe('scheme of the header Authorization, before the key of the configuration'),
    timeout_seconds: z
      .number()
      .positive()
      .max(60)
      .default(TIMEOUT_SECONDS_DEFAULT)
      .describe('time limit of a notification'),
  })
  .prefault({});

/** Addresses that replies may be sent to. Without a wildcard only one origin is allowed. */
const Origin = z
  .string()
  .regex(
    /^https?:\/\/(?:\*\.)?[a-z0-9][a-z0-9.-]*(?::\d{1,5})?$/,
    'must be an origin without a path, such as https://bot.example.com or https://*.example.com',
  );

const apiAddress = (address: string) =>
  z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .refine((url) => !/[?#]|:\/\/[^/]*@/.test(url), 'must have no query, no fragment and no credentials')
    .default(address)
    .transform((url) => url.replace(/\/+$/, ''));

/** Settings of platforms to which the service sends replies. */
const platformSettings = {
  kakao: z
    .strictObject({
      callback_origins: z
        .array(Origin)
        .default(['https://*.kakao.com'])
        .describe('origins of callback addresses that replies are sent to; *. stands for the subdomains'),
    })
    .prefault({})
    .describe('KakaoTalk skills'),
  slack: z
    .strictObject({ base_url: apiAddress('https://slack.com/api').describe('address of the Web API') })
    .prefault({})
    .describe('Slack apps'),
  line: z
    .strictObject({ base_url: apiAddress('https://api.line.me').describe('address of the Messaging API') })
    .prefault({})
    .describe('LINE channels'),
};

export const channelSettings = {
  channels: z
    .strictObject({
      messenger: Messenger.describe('provider of notifications'),
      ...platformSettings,
      /** Time after which a delivery is answered with an apology. */
      reply_deadline_seconds: z
        .number()
        .min(0.5)
        .max(60)
        .default(REPLY_DEADLINE_SECONDS_DEFAULT)
        .describe('time after which a delivery is answered by an apology'),
      delivery_days: z
        .number()
        .min(0)
        .max(3_650)
        .default(DELIVERY_DAYS_DEFAULT)
        .describe('time for which received messages are listed, without their texts; 0: ten minutes'),
    })
    .prefault({})
    .describe('messaging channels'),
};

type ChannelsFile = z.output<z.ZodObject<typeof channelSettings>>;

export interface MessengerSettings {
  /** Address to which notifications are posted. */
  readonly url: string;
  readonly authScheme: string;
  /** Time limit of one notification, including retries. */
  readonly timeoutMs: number;
}

/** Addresses of the platforms to which replies are sent. */
export interface PlatformAddresses {
  /** Origins of callback addresses. `*.` stands for the subdomains of a domain. */
  readonly kakaoCallbacks: readonly string[];
  /** Addresses of APIs, without a slash at their ends. */
  readonly slack: string;
  readonly line: string;
}

interface ChannelConfig {
  /** Null if the local outbox keeps notifications. */
  readonly messenger: MessengerSettings | null;
  /** Time limit of a reply to a delivery. */
  readonly replyDeadlineMs: number;
  /** Time for which deliveries are listed. */
  readonly deliveriesKeptMs: number;
  readonly platforms: PlatformAddresses;
}

/** Convert the settings of the file to the form that the program uses. */
export function channelConfigOf({ channels }: ChannelsFile): ChannelConfig {
  const { messenger, kakao, slack, line } = channels;
  const { base_url: url } = messenger;
  return {
    messenger:
      url === undefined
        ? null
        : { url, authScheme: messenger.auth_scheme, timeoutMs: messenger.timeout_seconds * 1000 },
    replyDeadlineMs: channels.reply_deadline_seconds * 1000,
    deliveriesKeptMs: channels.delivery_days * DAY_MS,
    platforms: { kakaoCallbacks: kakao.callback_origins, slack: slack.base_url, line: line.base_url },
  };
}
