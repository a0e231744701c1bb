import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { Secret } from '../../platform/secret.ts';
import { credential, plainField, seoulTime, withSender } from './config-fields.ts';
import { NotAccepted } from './not-accepted.ts';
import { type DeliveryReport, type Found, type OutgoingMessage, type Sender, SenderConfig } from './sender.ts';
import { variablesIn } from './template-text.ts';
import { bodyOf, queryOf, vendorId, vendorReason } from './vendor-call.ts';

const SensConfig = withSender(
  SenderConfig.extend({
    access_key: credential.describe('access key of the account or sub-account'),
    secret_key: credential.describe('secret key of the access key'),
    service_id: z
      .string({ error: 'is required' })
      .regex(/^[A-Za-z0-9:._-]{1,200}$/, 'must be the id of a Biz Message service, such as ncp:kkobizmsg:kr:123:shop')
      .describe('id of the Biz Message service, such as ncp:kkobizmsg:kr:123:shop'),
    channel_id: plainField(200).describe('KakaoTalk channel, such as @shop'),
  }),
);
type SensConfig = z.output<typeof SensConfig>;

/** Status of a message accepted by the vendor, and of one delivered by KakaoTalk. */
const ACCEPTED = 'A000';
const DELIVERED = '0000';
const FIND_MARGIN_MS = 60_000;

const Message = z.looseObject({
  messageId: vendorId.optional(),
  content: z.string().optional(),
  requestStatusCode: z.string().optional(),
  requestStatusDesc: z.string().nullish(),
  messageStatusCode: z.string().nullish(),
  messageStatusDesc: z.string().nullish(),
  useSmsFailover: z.boolean().nullish(),
  failover: z
    .looseObject({ messageStatusName: z.string().nullish(), messageStatusDesc: z.string().nullish() })
    .nullish(),
});
const Messages = z.looseObject({ messages: z.array(Message) });
const SensTemplate = z.looseObject({
  templateCode: z.string(),
  content: z.string(),
  templateInspectionStatus: z.string().nullish(),
  templateStatus: z.string().nullish(),
  buttons: z.array(z.looseObject({})).nullish(),
});

/**
 * Alimtalk of NAVER Cloud SENS, API v2 (api.ncloud-docs.com: sens-overview, sens-alimtalk-send, sens-alimtalk-get,
 * sens-alimtalk-list, sens-alimtalk-template-get and common-ncpapi, read in November 2026). The request contains the
 * whole text, which the vendor compares with the template. Messages have no field for our id, so `find` compares the
 * number, template and text.
 */
export const sens: Sender<SensConfig> = {
  provider: 'sens',
  label: 'NAVER Cloud SENS',
  config: SensConfig,
  connect(config, call) {
    const secretKey = new Secret(config.secret_key);
    const secrets = [secretKey, new Secret(config.access_key)];
    const service = `/alimtalk/v2/services/${config.service_id}`;
    const exchange = async (method: 'GET' | 'POST', path: string, body?: object) => {
      const headers = signedHeaders(method, path, config.access_key, secretKey);
      return bodyOf(await call({ method, path, headers, ...(body && { body }) }), reasonOf, secrets);
    };
    return {
      async send(message) {
        const answer = Messages.safeParse(await exchange('POST', `${service}/messages`, requestOf(config, message)));
        const [sent] = answer.data?.messages ?? [];
        if (sent?.requestStatusCode !== undefined && sent.requestStatusCode !== ACCEPTED) {
          const reason = `${sent.requestStatusCode} ${sent.requestStatusDesc ?? ''}`;
          throw new NotAccepted('rejected', vendorReason(reason, secrets));
        }
        if (sent?.messageId === undefined) throw new NotAccepted('unknown', 'invalid_answer');
        return sent.messageId;
      },
      async template(code) {
        const query = queryOf({ channelId: config.channel_id, templateCode: code });
        const answer = await exchange('GET', `${service}/templates?${query}`);
        const list = z.array(SensTemplate).safeParse(Array.isArray(answer) ? answer : [answer]);
        const found = list.data?.find(({ templateCode }) => templateCode === code);
        return found === undefined ? null : toTemplate(found);
      },
      async report(messageId) {
        const answer = Message.safeParse(await exchange('GET', `${service}/messages/${encodeURIComponent(messageId)}`));
        if (!answer.success) throw new NotAccepted('unknown', 'invalid_answer');
        return reportOf(answer.data, (reason) => vendorReason(reason, secrets));
      },
      async find(message, others) {
        const query = queryOf({
          plusFriendId: config.channel_id,
          templateCode: message.templateCode,
          to: message.phone,
          requestStartTime: seoulTime(new Date(message.requestedAt.getTime() - FIND_MARGIN_MS)),
          requestEndTime: seoulTime(new Date(Date.now() + FIND_MARGIN_MS)),
          pageSize: '100',
        });
        try {
          return foundIn(await exchange('GET', `${service}/messages?${query}`), message, others);
        } catch (error) {
          // An empty list has status 404.
          if (error instanceof NotAccepted && error.reason === 'http_404') return 'absent';
          throw error;
        }
      },
    };
  },
};

/**
 * Sign a request: base64 of the HMAC-SHA-256 of `<method> <path with query>\n<milliseconds>\n<access key>` under the
 * secret key (api.ncloud-docs.com, common-ncpapi).
 */
export function signature(request: string, timestampMs: string, accessKey: string, secretKey: Secret): string {
  return createHmac('sha256', secretKey.reveal()).update(`${request}\n${timestampMs}\n${accessKey}`).digest('base64');
}

function signedHeaders(method: string, path: string, accessKey: string, secretKey: Secret): Record<string, string> {
  const timestamp = String(Date.now());
  return {
    'x-ncp-apigw-timestamp': timestamp,
    'x-ncp-iam-access-key': accessKey,
    'x-ncp-apigw-signature-v2': signature(`${method} ${path}`, timestamp, accessKey, secretKey),
  };
}

function requestOf(config: SensConfig, { phone, templateCode, rendered, instead }: OutgoingMessage): object {
  const failover = instead && { type: instead.type, from: instead.from, subject: instead.title, content: instead.text };
  return {
    plusFriendId: config.channel_id,
    templateCode,
    messages: [
      {
        countryCode: '82',
        to: phone,
        content: rendered?.text,
        buttons: rendered?.buttons,
        useSmsFailover: failover !== null,
        ...(failover && { failoverConfig: withoutNull(failover) }),
      },
    ],
  };
}

function withoutNull(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

function toTemplate(found: z.output<typeof SensTemplate>) {
  const { content, buttons, templateInspectionStatus: inspection, templateStatus: status } = found;
  const isApproved = (inspection ?? 'COMPLETE') === 'COMPLETE' && (status ?? 'ACTIVE') !== 'STOP';
  const sent = (buttons ?? []).map(buttonOf);
  return {
    text: content,
    buttons: sent,
    variables: variablesIn([content, sent]),
    unusable: isApproved ? null : `templateInspectionStatus ${inspection}, templateStatus ${status}`,
  };
}

/** Select the fields of a template's button that a message needs. */
function buttonOf(button: Readonly<Record<string, unknown>>): object {
  const { type, name, linkMobile, linkPc, schemeIos, schemeAndroid } = button;
  return withoutNull({
    type,
    name,
    linkMobile: linkMobile ?? null,
    linkPc: linkPc ?? null,
    schemeIos: schemeIos ?? null,
    schemeAndroid: schemeAndroid ?? null,
  });
}

function reportOf(message: z.output<typeof Message>, safe: (reason: string) => string): DeliveryReport {
  const { requestStatusCode, messageStatusCode: code, failover } = message;
  if (requestStatusCode !== undefined && requestStatusCode !== ACCEPTED) {
    return { state: 'failed', reason: safe(`${requestStatusCode} ${message.requestStatusDesc ?? ''}`) };
  }
  if (!code) return { state: 'pending' };
  if (code === DELIVERED) return { state: 'delivered', as: 'notification' };
  const reason = safe(`${code} ${message.messageStatusDesc ?? ''}`);
  if (message.useSmsFailover !== true) return { state: 'failed', reason };
  if (failover?.messageStatusName === 'success') return { state: 'delivered', as: 'text' };
  if (failover?.messageStatusName !== 'fail') return { state: 'pending' };
  return { state: 'failed', reason: `${reason}; text message: ${safe(failover.messageStatusDesc ?? 'failed')}` };
}

function foundIn(answer: unknown, message: OutgoingMessage, others: ReadonlySet<string>): Found {
  const list = Messages.safeParse(answer);
  if (!list.success) throw new NotAccepted('unknown', 'invalid_answer');
  const ids = list.data.messages
    .filter(({ content }) => content === undefined || content === message.rendered?.text)
    .flatMap(({ messageId }) => (messageId === undefined || others.has(messageId) ? [] : [messageId]));
  const [first, second] = ids;
  if (first === undefined) return 'absent';
  return second === undefined ? { messageId: first } : 'unclear';
}

/** Parse `{errors, errorMessage}` of the service or `{error: {errorCode, message}}` of the API gateway. */
function reasonOf(json: unknown): string | null {
  const Body = z.looseObject({
    errors: z.unknown(),
    errorMessage: z.string().optional(),
    error: z
      .looseObject({ errorCode: z.string().optional(), message: z.string().optional() })
      .optional()
      .catch(undefined),
    message: z.string().optional().catch(undefined),
  });
  const { data } = Body.safeParse(json);
  const code = typeof data?.errors === 'string' ? data.errors : data?.error?.errorCode;
  const text = data?.errorMessage ?? data?.error?.message ?? data?.message;
  return [code, text].filter((part) => part !== undefined).join(' ') || null;
}
