import { createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { Secret } from '../../platform/secret.ts';
import { credential, plainField, withSender } from './config-fields.ts';
import { NotAccepted, type NotAcceptedKind } from './not-accepted.ts';
import { type DeliveryReport, type OutgoingMessage, type Sender, SenderConfig } from './sender.ts';
import { variablesIn } from './template-text.ts';
import { bodyOf, queryOf, vendorId, vendorReason } from './vendor-call.ts';

const SolapiConfig = withSender(
  SenderConfig.extend({
    api_key: credential.describe('API key'),
    api_secret: credential.describe('API secret'),
    channel_id: plainField(200).describe('pfId of the KakaoTalk channel'),
  }),
);
type SolapiConfig = z.output<typeof SolapiConfig>;

const SALT_BYTES = 16;
/** Message field for the notification's id. Field names have at most 30 characters. */
const ID_FIELD = 'notification';
const FIND_MARGIN_MS = 60_000;
const DELIVERED = '4000';
/** States of pending messages: accepted by the platform, accepted by the carrier. */
const PENDING = new Set(['2000', '3000']);
/** Account errors: wrong credentials, no balance. */
const ACCOUNT = new Set(['1020', '1030', '2063', '2230']);
/** Platform errors. */
const BUSY = new Set(['1024', '2024']);

const Accepted = z.looseObject({
  failedMessageList: z
    .array(z.looseObject({ statusCode: z.string(), statusMessage: z.string().nullish() }))
    .default([]),
  messageList: z.array(z.looseObject({ messageId: vendorId })).default([]),
});
const Stored = z.looseObject({
  statusCode: z.string().nullish(),
  reason: z.string().nullish(),
  type: z.string().nullish(),
  replacement: z.union([z.boolean(), z.number()]).nullish(),
  customFields: z.record(z.string(), z.unknown()).nullish(),
});
const StoredMessages = z.looseObject({ messageList: z.record(vendorId, Stored) });
const SolapiTemplate = z.looseObject({
  content: z.string().default(''),
  status: z.string(),
  buttons: z.array(z.looseObject({})).nullish(),
  variables: z.array(z.looseObject({ name: z.string() })).nullish(),
});

/**
 * Alimtalk of Solapi (docs.solapi.com: authentication/api-key, api-reference/messages/sendmany,
 * api-reference/messages/getmessagelist, api-reference/message-status-codes and api-reference/kakao/gettemplate, and
 * for `send-many/detail` and `variables` the vendor's own SDK, github.com/solapi/solapi-nodejs; read in November 2026).
 * The vendor fills the template, and stores the notification's id in `customFields`.
 */
export const solapi: Sender<SolapiConfig> = {
  provider: 'solapi',
  label: 'Solapi',
  config: SolapiConfig,
  connect(config, call) {
    const secret = new Secret(config.api_secret);
    const secrets = [secret, new Secret(config.api_key)];
    const safe = (reason: string) => vendorReason(reason, secrets);
    const exchange = async (method: 'GET' | 'POST', path: string, body?: object) => {
      const headers = { authorization: authorization(config.api_key, secret) };
      return bodyOf(await call({ method, path, headers, ...(body && { body }) }), reasonOf, secrets);
    };
    const list = async (query: Record<string, string>) => {
      const answer = await exchange('GET', `/messages/v4/list?${queryOf(query)}`);
      const messages = StoredMessages.safeParse(answer);
      if (!messages.success) throw new NotAccepted('unknown', 'invalid_answer');
      return Object.entries(messages.data.messageList);
    };
    return {
      async send(message) {
        const path = '/messages/v4/send-many/detail';
        const answer = Accepted.safeParse(await exchange('POST', path, requestOf(config, message)));
        const [failed] = answer.data?.failedMessageList ?? [];
        if (failed !== undefined) {
          throw new NotAccepted(kindOf(failed.statusCode), safe(`${failed.statusCode} ${failed.statusMessage ?? ''}`));
        }
        const [sent] = answer.data?.messageList ?? [];
        if (sent === undefined) throw new NotAccepted('unknown', 'invalid_answer');
        return sent.messageId;
      },
      async template(code) {
        const answer = await exchange('GET', `/kakao/v2/templates/${encodeURIComponent(code)}`);
        const template = SolapiTemplate.safeParse(answer);
        return template.success ? toTemplate(template.data) : null;
      },
      async report(messageId) {
        const messages = await list({ criteria: 'messageId', cond: 'eq', value: messageId });
        const [, stored] = messages.find(([id]) => id === messageId) ?? [];
        return stored === undefined ? { state: 'pending' } : reportOf(stored, safe);
      },
      async find(message) {
        const messages = await list({
          criteria: 'to',
          cond: 'eq',
          value: message.phone,
          limit: '500',
          dateType: 'CREATED',
          startDate: new Date(message.requestedAt.getTime() - FIND_MARGIN_MS).toISOString(),
          endDate: new Date(Date.now() + FIND_MARGIN_MS).toISOString(),
        });
        const found = messages.find(([, { customFields }]) => customFields?.[ID_FIELD] === message.id);
        return found === undefined ? 'absent' : { messageId: found[0] };
      },
    };
  },
};

/**
 * Build the `Authorization` header. The signature is the hexadecimal HMAC-SHA-256 of date and salt under the API secret
 * (docs.solapi.com, authentication/api-key). The vendor refuses a reused salt.
 */
export function authorization(
  apiKey: string,
  apiSecret: Secret,
  date = new Date().toISOString(),
  salt = randomBytes(SALT_BYTES).toString('hex'),
): string {
  const signature = createHmac('sha256', apiSecret.reveal())
    .update(date + salt)
    .digest('hex');
  return `HMAC-SHA256 apiKey=${apiKey}, date=${date}, salt=${salt}, signature=${signature}`;
}

function requestOf(config: SolapiConfig, { id, phone, templateCode, args, instead }: OutgoingMessage): object {
  const variables = Object.fromEntries(Object.entries(args).map(([name, value]) => [`#{${name}}`, value]));
  const message = {
    to: phone,
    type: 'ATA',
    country: '82',
    customFields: { [ID_FIELD]: id },
    ...(instead && { from: instead.from, ...(instead.title === null ? {} : { subject: instead.title }) }),
    kakaoOptions: { pfId: config.channel_id, templateId: templateCode, variables, disableSms: instead === null },
  };
  return { messages: [message], allowDuplicates: false, showMessageList: true };
}

function toTemplate({ content, status, buttons, variables }: z.output<typeof SolapiTemplate>) {
  const named = (variables ?? []).flatMap(({ name }) => (name.startsWith('#{') ? variablesIn(name) : [name]));
  return {
    text: content,
    buttons: buttons ?? [],
    variables: [...new Set([...variablesIn([content, buttons]), ...named])],
    unusable: status === 'APPROVED' ? null : `status ${status}`,
  };
}

function reportOf(stored: z.output<typeof Stored>, safe: (reason: string) => string): DeliveryReport {
  const code = stored.statusCode ?? '';
  if (code === '' || PENDING.has(code)) return { state: 'pending' };
  if (code !== DELIVERED) return { state: 'failed', reason: safe(`${code} ${stored.reason ?? ''}`) };
  const isText = Boolean(stored.replacement) || stored.type === 'SMS' || stored.type === 'LMS';
  return { state: 'delivered', as: isText ? 'text' : 'notification' };
}

function kindOf(code: string): NotAcceptedKind {
  if (ACCOUNT.has(code)) return 'refused';
  return BUSY.has(code) ? 'busy' : 'rejected';
}

/** Parse `{errorCode, errorMessage}`. */
function reasonOf(json: unknown): string | null {
  const body = z.looseObject({ errorCode: z.string(), errorMessage: z.string().optional() }).safeParse(json);
  return body.success ? `${body.data.errorCode} ${body.data.errorMessage ?? ''}`.trim() : null;
}
