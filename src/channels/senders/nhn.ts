import { z } from 'zod';
import { Secret } from '../../platform/secret.ts';
import { credential, plainField, seoulTime, withSender } from './config-fields.ts';
import { NotAccepted, type NotAcceptedKind } from './not-accepted.ts';
import { type DeliveryReport, type OutgoingMessage, type Sender, SenderConfig } from './sender.ts';
import { variablesIn } from './template-text.ts';
import { bodyOf, queryOf, vendorId, vendorReason } from './vendor-call.ts';

const NhnConfig = withSender(
  SenderConfig.extend({
    app_key: credential.describe('app key of the KakaoTalk Bizmessage service'),
    secret_key: credential.describe('secret key of the console, sent as X-Secret-Key'),
    sender_key: plainField(100).describe('sender key of the KakaoTalk channel'),
  }),
);
type NhnConfig = z.output<typeof NhnConfig>;

const FIND_MARGIN_MS = 60_000;
const APPROVED = 'TSC03';
/** Header result codes: wrong app key, wrong secret key, daily limit, blocked profile. */
const ACCOUNT = new Set([-1000, -1001, -1017, -1027, -4004, -4005]);
/** Result codes of temporary failures: key of an earlier request, failed vendor, system error. */
const BUSY = new Set([-1005, -7000, -9999]);
const NO_MESSAGE = -1016;
const NO_TEMPLATE = -3003;

const Header = z.looseObject({
  isSuccessful: z.boolean(),
  resultCode: z.number(),
  resultMessage: z.string().nullish(),
});
const Sent = z.looseObject({
  message: z.looseObject({
    requestId: vendorId,
    sendResults: z
      .array(z.looseObject({ recipientSeq: z.number(), resultCode: z.number(), resultMessage: z.string().nullish() }))
      .min(1),
  }),
});
const Result = z.looseObject({
  requestId: vendorId,
  recipientSeq: z.number(),
  messageStatus: z.string().nullish(),
  resultCode: z.string().nullish(),
  resultCodeName: z.string().nullish(),
  resendStatus: z.string().nullish(),
  resendStatusName: z.string().nullish(),
});
const One = z.looseObject({ message: Result });
const Many = z.looseObject({ messageSearchResultResponse: z.looseObject({ messages: z.array(Result) }) });
const NhnTemplate = z.looseObject({
  templateContent: z.string().nullish(),
  status: z.string().nullish(),
  statusName: z.string().nullish(),
  buttons: z.array(z.looseObject({})).nullish(),
});

/**
 * Alimtalk of NHN Cloud KakaoTalk Bizmessage, API v2.3 (docs.nhncloud.com: KakaoTalk Bizmessage, alimtalk-api-guide and
 * error-code; read in November 2026). The vendor fills the template. `recipientGroupingKey` holds the notification's
 * id. The vendor refuses a second request with the same `X-NC-API-IDEMPOTENCY-KEY` within ten minutes.
 */
export const nhn: Sender<NhnConfig> = {
  provider: 'nhn',
  label: 'NHN Cloud',
  config: NhnConfig,
  connect(config, call) {
    const secretKey = new Secret(config.secret_key);
    const secrets = [secretKey, new Secret(config.app_key)];
    const safe = (reason: string) => vendorReason(reason, secrets);
    const root = `/alimtalk/v2.3/appkeys/${encodeURIComponent(config.app_key)}`;
    const exchange = async (method: 'GET' | 'POST', path: string, body?: object, id?: string) => {
      const headers = {
        'x-secret-key': secretKey.reveal(),
        ...(id === undefined ? {} : { 'x-nc-api-idempotency-key': id }),
      };
      const reply = await call({ method, path: root + path, headers, ...(body && { body }) });
      return successOf(bodyOf(reply, reasonOf, secrets), safe);
    };
    return {
      async send(message) {
        const answer = Sent.safeParse(await exchange('POST', '/messages', requestOf(config, message), message.id));
        const [result] = answer.data?.message.sendResults ?? [];
        if (answer.data === undefined || result === undefined) throw new NotAccepted('unknown', 'invalid_answer');
        if (result.resultCode !== 0) throw faultOf(result.resultCode, result.resultMessage, safe);
        return `${answer.data.message.requestId}/${result.recipientSeq}`;
      },
      async template(code) {
        const path = `/senders/${encodeURIComponent(config.sender_key)}/templates/${encodeURIComponent(code)}`;
        const answer = await exchange('GET', path).catch(noneIf(NO_TEMPLATE));
        const found = z
          .looseObject({ templates: NhnTemplate.nullish(), template: NhnTemplate.nullish() })
          .parse(answer);
        const template = found.templates ?? found.template;
        return template?.templateContent ? toTemplate(template) : null;
      },
      async report(messageId) {
        const [requestId = '', recipientSeq = ''] = messageId.split('/');
        const path = `/messages/${encodeURIComponent(requestId)}/${encodeURIComponent(recipientSeq)}`;
        const answer = One.safeParse(await exchange('GET', path).catch(noneIf(NO_MESSAGE)));
        return answer.success ? reportOf(answer.data.message, safe) : { state: 'pending' };
      },
      async find(message) {
        const query = queryOf({
          recipientGroupingKey: message.id,
          pageSize: '1',
          startRequestDate: minutes(new Date(message.requestedAt.getTime() - FIND_MARGIN_MS)),
          endRequestDate: minutes(new Date(Date.now() + FIND_MARGIN_MS)),
        });
        const answer = Many.safeParse(await exchange('GET', `/messages?${query}`));
        if (!answer.success) throw new NotAccepted('unknown', 'invalid_answer');
        const [found] = answer.data.messageSearchResultResponse.messages;
        return found === undefined ? 'absent' : { messageId: `${found.requestId}/${found.recipientSeq}` };
      },
    };
  },
};

function requestOf(config: NhnConfig, { id, phone, templateCode, args, instead }: OutgoingMessage): object {
  const resendParameter =
    instead === null
      ? { isResend: false }
      : {
          isResend: true,
          resendType: instead.type,
          resendSendNo: instead.from,
          resendContent: instead.text,
          ...(instead.title === null ? {} : { resendTitle: instead.title }),
        };
  return {
    senderKey: config.sender_key,
    templateCode,
    recipientList: [{ recipientNo: phone, templateParameter: args, resendParameter, recipientGroupingKey: id }],
  };
}

/** Return the body of a response whose header reports success. Failures also have status 200. */
function successOf(json: unknown, safe: (reason: string) => string): unknown {
  const body = z.looseObject({ header: Header }).safeParse(json);
  if (!body.success) throw new NotAccepted('unknown', 'invalid_answer');
  const { isSuccessful, resultCode, resultMessage } = body.data.header;
  if (!isSuccessful) throw faultOf(resultCode, resultMessage, safe);
  return json;
}

function faultOf(code: number, message: string | null | undefined, safe: (reason: string) => string): NotAccepted {
  return new NotAccepted(kindOf(code), safe(`${code} ${message ?? ''}`), { cause: code });
}

function kindOf(code: number): NotAcceptedKind {
  if (ACCOUNT.has(code)) return 'refused';
  return BUSY.has(code) ? 'busy' : 'rejected';
}

/** Return an error handler that returns an empty response for one result code. */
function noneIf(code: number): (error: unknown) => object {
  return (error) => {
    if (error instanceof NotAccepted && error.cause === code) return {};
    throw error;
  };
}

function toTemplate(template: z.output<typeof NhnTemplate>) {
  const { comments: _, templateName: __, ...shown } = template;
  return {
    text: template.templateContent ?? '',
    buttons: template.buttons ?? [],
    variables: variablesIn(shown),
    unusable: (template.status ?? APPROVED) === APPROVED ? null : `${template.status} ${template.statusName ?? ''}`,
  };
}

function reportOf(result: z.output<typeof Result>, safe: (reason: string) => string): DeliveryReport {
  const { messageStatus, resendStatus } = result;
  if (messageStatus === 'COMPLETED') return { state: 'delivered', as: 'notification' };
  if (messageStatus !== 'FAILED' && messageStatus !== 'CANCEL') return { state: 'pending' };
  if (resendStatus === 'RSC04') return { state: 'delivered', as: 'text' };
  if (resendStatus === 'RSC02' || resendStatus === 'RSC03') return { state: 'pending' };
  const reason = [messageStatus, result.resultCode, result.resultCodeName].filter(Boolean).join(' ');
  return { state: 'failed', reason: safe(resendStatus === 'RSC05' ? `${reason}; text message: failed` : reason) };
}

/** Format a time as `2026-11-29 23:40` in Korean time. */
function minutes(date: Date): string {
  return seoulTime(date).slice(0, 'yyyy-MM-dd HH:mm'.length);
}

function reasonOf(json: unknown): string | null {
  const body = z.looseObject({ header: Header }).safeParse(json);
  return body.success ? `${body.data.header.resultCode} ${body.data.header.resultMessage ?? ''}`.trim() : null;
}
