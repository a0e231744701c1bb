import { FakeVendor, type KeptMessage, type VendorAnswer, type VendorSeen } from './fake-vendor.ts';

const TEMPLATES: Readonly<Record<string, object>> = {
  ORDER: {
    ...{ templateCode: 'ORDER', templateName: 'order #{x}', status: 'TSC03', statusName: '승인' },
    templateContent: '#{name}님, 주문 #{number}이 접수되었습니다.',
    comments: [{ content: 'please explain #{y}' }],
    buttons: [],
  },
  DRAFT: { templateCode: 'DRAFT', status: 'TSC02', statusName: '검수 중', templateContent: 'draft', buttons: [] },
};
const OK = { header: { isSuccessful: true, resultCode: 0, resultMessage: 'SUCCESS' } };

/** NHN Cloud as its pages describe it (docs.nhncloud.com: KakaoTalk Bizmessage, alimtalk-api-guide v2.3, error-code). */
export class FakeNhn extends FakeVendor {
  readonly provider = 'nhn';
  readonly config = {
    ...{ app_key: 'nhn-app-canary-0123456789', secret_key: 'nhn-secret-canary-0123456789' },
    sender_key: 'a'.repeat(40),
  };

  protected isAuthorized({ headers, path }: VendorSeen): boolean {
    const isOwn = path.startsWith(`/alimtalk/v2.3/appkeys/${this.config.app_key}/`);
    return headers['x-secret-key'] === this.config.secret_key && isOwn;
  }

  protected refusal({ headers }: VendorSeen): VendorAnswer {
    return fault(-1001, `Invalid secretKey. ${headers['x-secret-key']}`);
  }

  protected answer(seen: VendorSeen): VendorAnswer {
    const path = seen.url.pathname.replace(`/alimtalk/v2.3/appkeys/${this.config.app_key}`, '');
    if (seen.method === 'POST' && path === '/messages') return this.#send(seen);
    if (path === '/messages') return this.#list(seen.url.searchParams);
    if (path.startsWith('/senders/')) {
      const template = TEMPLATES[path.replace(`/senders/${this.config.sender_key}/templates/`, '')];
      return template ? { body: { ...OK, templates: template } } : fault(-3003, 'Template does not exist');
    }
    const message = this.messages.find(({ id }) => path === `/messages/${id}`);
    return message ? { body: { ...OK, message: resultOf(message) } } : fault(-1016, 'Message is not found');
  }

  #send(seen: VendorSeen): VendorAnswer {
    const key = seen.headers['x-nc-api-idempotency-key'];
    const isRepeated = this.messages.some(({ request }) => request.headers['x-nc-api-idempotency-key'] === key);
    if (isRepeated) return fault(-1005, 'Duplicate request');
    const [recipient] = seen.body.recipientList;
    const isRefused = recipient.templateParameter.name === 'refuse';
    const result = { recipientSeq: 1, recipientNo: recipient.recipientNo };
    if (isRefused) return fault(-3003, 'Template does not exist');
    const { id } = this.keep(recipient.recipientNo, seen, (nth) => `202611290000${nth}/1`);
    const [requestId] = id.split('/');
    const sendResults = [{ ...result, resultCode: 0, resultMessage: 'SUCCESS' }];
    return { body: { ...OK, message: { requestId, senderGroupingKey: null, sendResults } } };
  }

  #list(query: URLSearchParams): VendorAnswer {
    const times = [query.get('startRequestDate') ?? '', query.get('endRequestDate') ?? ''];
    if (!times.every((time) => /^\d{4}-\d\d-\d\d \d\d:\d\d$/.test(time))) return fault(-4000, 'Invalid parameter');
    const messages = this.messages.filter(
      ({ request }) => request.body.recipientList[0].recipientGroupingKey === query.get('recipientGroupingKey'),
    );
    const found = messages.map(resultOf);
    return { body: { ...OK, messageSearchResultResponse: { messages: found, totalCount: found.length } } };
  }
}

function fault(resultCode: number, resultMessage: string): VendorAnswer {
  return { body: { header: { isSuccessful: false, resultCode, resultMessage } } };
}

function resultOf({ id, to, request, state }: KeptMessage): object {
  const [requestId, recipientSeq] = id.split('/');
  const { isResend } = request.body.recipientList[0].resendParameter;
  const common = { requestId, recipientSeq: Number(recipientSeq), recipientNo: to };
  if (state === 'pending') return { ...common, messageStatus: 'READY', resendStatus: isResend ? 'RSC02' : 'RSC01' };
  if (state === 'delivered')
    return { ...common, messageStatus: 'COMPLETED', resultCode: 'MRC01', resendStatus: 'RSC01' };
  const failed = { ...common, messageStatus: 'FAILED', resultCode: 'MRC02', resultCodeName: '실패' };
  return { ...failed, resendStatus: state === 'resent' ? 'RSC04' : isResend ? 'RSC05' : 'RSC01' };
}
