import { z } from 'zod';
import { numberSetting } from './number-settings.ts';

const TIMEOUT_SECONDS_DEFAULT = 10;
/** Default deadline of a reply; messengers stop waiting after 5 s. */
const REPLY_DEADLINE_SECONDS_DEFAULT = 3.5;
const DELIVERY_DAYS_DEFAULT = 30;
const DAY_MS = 24 * 3_600_000;

const address = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .refine((url) => !/[?#]|:\/\/[^/]*@/.test(url), 'must have no query, no fragment and no credentials');
const timeoutSeconds = z.number().positive().max(60).default(TIMEOUT_SECONDS_DEFAULT);

/** Setting `channels.messenger`, the provider of notifications. Without `base_url`, they go to the local outbox. */
const Messenger = z
  .strictObject({
    base_url: address
      .optional()
      .describe('address to which notifications are posted (default: notifications are only recorded)'),
    /** Scheme of the header `Authorization`, before the `rest_api_key` of the configuration. */
    auth_scheme: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'must be one word')
      .default('Bearer')
      .describe('scheme of the header Authorization, in front of the key of the configuration'),
    timeout_seconds: timeoutSeconds.describe('time limit of a notification'),
  })
  .prefault({});

/** Build the setting for a notification vendor with its own API. */
function vendor(baseUrl: string) {
  return z
    .strictObject({
      base_url: address.default(baseUrl).describe('address of the vendor, or of a proxy that forwards to it'),
      timeout_seconds: timeoutSeconds.describe('time limit of one request'),
    })
    .prefault({});
}
/** Address that replies may be sent to. Without a wildcard, it allows a single origin. */
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

/** Settings of the platforms that receive replies. */
const platformSettings = {
  kakao: z
    .strictObject({
      callback_origins: z
        .array(Origin)
        .default(['https://*.kakao.com'])
        .describe('origins of callback addresses to which replies may be sent; *. stands for any subdomain'),
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
      sens: vendor('https://sens.apigw.ntruss.com').describe('NAVER Cloud SENS, for Alimtalk'),
      solapi: vendor('https://api.solapi.com').describe('Solapi, for Alimtalk'),
      nhn: vendor('https://kakaotalk-bizmessage.api.nhncloudservice.com').describe('NHN Cloud, for Alimtalk'),
      ...platformSettings,
      /** Time after which the service answers a delivery with an apology. */
      reply_deadline_seconds: numberSetting(
        { min: 0.5, max: 60, default: REPLY_DEADLINE_SECONDS_DEFAULT },
        'time after which the service answers a message with an apology',
      ),
      delivery_days: numberSetting(
        { min: 0, max: 3_650, default: DELIVERY_DAYS_DEFAULT },
        'days for which the list of received messages is kept, without their texts; 0: ten minutes',
      ),
      keep_questions: z
        .boolean()
        .default(false)
        .describe('keep the texts of unanswered questions for 30 days, without the names of the people who asked'),
    })
    .prefault({})
    .describe('messaging channels'),
};

type ChannelsFile = z.output<z.ZodObject<typeof channelSettings>>;

/** Alimtalk vendors, as named by the provider of a configuration. */
export type VendorName = 'sens' | 'solapi' | 'nhn';

/** API address and time limit of a vendor. */
export interface VendorSettings {
  readonly baseUrl: string;
  readonly timeoutMs: number;
}

export interface MessengerSettings {
  /** Address that receives notifications by POST. */
  readonly url: string;
  readonly authScheme: string;
  /** Time limit of one notification, including retries. */
  readonly timeoutMs: number;
}

/** Addresses of the platforms that receive replies. */
export interface PlatformAddresses {
  /** Origins of callback addresses. `*.` matches the subdomains of a domain. */
  readonly kakaoCallbacks: readonly string[];
  /** API addresses without a trailing slash. */
  readonly slack: string;
  readonly line: string;
}

export interface ChannelsConfig {
  /** Null to keep notifications in the local outbox. */
  readonly messenger: MessengerSettings | null;
  /** Vendors of Alimtalk by provider. */
  readonly vendors: Readonly<Record<VendorName, VendorSettings>>;
  readonly platforms: PlatformAddresses;
  /** Deadline of a reply to a delivery. */
  readonly replyDeadlineMs: number;
  /** Time for which deliveries stay listed. */
  readonly deliveriesKeptMs: number;
  /** True if the texts of unanswered questions are kept. */
  readonly keepsQuestions: boolean;
}

/** Convert the file's settings to the program's form. */
export function channelConfigOf({ channels }: ChannelsFile): ChannelsConfig {
  const { messenger, sens, solapi, nhn, kakao, slack, line } = channels;
  return {
    messenger: messengerOf(messenger),
    vendors: { sens: vendorOf(sens), solapi: vendorOf(solapi), nhn: vendorOf(nhn) },
    platforms: { kakaoCallbacks: kakao.callback_origins, slack: slack.base_url, line: line.base_url },
    replyDeadlineMs: channels.reply_deadline_seconds * 1000,
    deliveriesKeptMs: channels.delivery_days * DAY_MS,
    keepsQuestions: channels.keep_questions,
  };
}

function messengerOf(messenger: ChannelsFile['channels']['messenger']): MessengerSettings | null {
  const { base_url: url, auth_scheme: authScheme, timeout_seconds: seconds } = messenger;
  return url === undefined ? null : { url, authScheme, timeoutMs: seconds * 1000 };
}

function vendorOf(vendor: ChannelsFile['channels']['sens']): VendorSettings {
  return { baseUrl: vendor.base_url, timeoutMs: vendor.timeout_seconds * 1000 };
}
