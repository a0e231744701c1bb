import { createHmac } from 'node:crypto';
import { FakeVendor, type KeptMessage, type VendorAnswer, type VendorSeen } from './fake-vendor.ts';

const TEMPLATES: Readonly<Record<string, object>> = {
  ORDER: {
    ...{ templateId: 'ORDER', name: 'order', status: 'APPROVED', messageType: 'BA', emphasizeType: 'NONE' },
    content: '#{name}님, 주문 #{number}이 접수되었습니다.',
    variables: [{ name: '#{name}' }, { name: '#{number}' }],
    buttons: [],
  },
  DRAFT: { templateId: 'DRAFT', name: 'draft', status: 'PENDING', content: 'draft', variables: [], buttons: [] },
};
const CODES = { pending: '3000', delivered: '4000', failed: '3104', resent: '4000' } as const;

/**
 * Solapi as its pages describe it (docs.solapi.com: authentication/api-key, messages/sendmany, messages/getmessagelist,
 * message-status-codes, kakao/gettemplate; github.com/solapi/solapi-nodejs for `send-many/detail`). The vendor publishes
 * a sample signature without its secret, so that the fake computes signatures itself.
 */
export class FakeSolapi extends FakeVendor {
  readonly provider = 'solapi';
  readonly config = {
    ...{ api_key: 'solapi-key-canary-0123456789', api_secret: 'solapi-secret-canary-0123456789' },
    channel_id: 'KA01PF0123',
  };
  readonly #signatures = new Set<string>();

  protected isAuthorized({ headers }: VendorSeen): boolean {
    const form = /^HMAC-SHA256 apiKey=(\S+), date=(\S+), salt=([0-9A-Za-z]{12,64}), signature=([0-9a-f]{64})$/;
    const [, apiKey, date = '', salt = '', signature = ''] = form.exec(headers.authorization ?? '') ?? [];
    const expected = createHmac('sha256', this.config.api_secret)
      .update(date + salt)
      .digest('hex');
    const isRecent = Math.abs(Date.now() - Date.parse(date)) < 15 * 60_000;
    const isNew = !this.#signatures.has(signature);
    this.#signatures.add(signature);
    return apiKey === this.config.api_key && signature === expected && isRecent && isNew;
  }

  protected refusal(): VendorAnswer {
    const errorMessage = `생성한 Signature가 일치하지 않습니다. apiKey=${this.config.api_key}`;
    return { status: 403, body: { errorCode: 'SignatureDoesNotMatch', errorMessage } };
  }

  protected answer(seen: VendorSeen): VendorAnswer {
    const { pathname, searchParams } = seen.url;
    if (seen.method === 'POST' && pathname === '/messages/v4/send-many/detail') return this.#send(seen);
    if (pathname === '/messages/v4/list') return this.#list(searchParams);
    const template = TEMPLATES[pathname.replace('/kakao/v2/templates/', '')];
    if (template) return { body: template };
    return { status: 404, body: { errorCode: 'ResourceNotFound', errorMessage: '해당 템플릿이 존재하지 않습니다.' } };
  }

  #send(seen: VendorSeen): VendorAnswer {
    const [message] = seen.body.messages;
    const isRefused = message.kakaoOptions.variables['#{name}'] === 'refuse';
    const common = { to: message.to, type: 'ATA', country: '82', accountId: '1' };
    const failed = {
      ...common,
      messageId: 'M4V0',
      statusCode: '1042',
      statusMessage: '유효한 템플릿 아이디가 아닙니다.',
    };
    if (isRefused) return { body: { failedMessageList: [failed], groupInfo: { groupId: 'G4V1' }, messageList: [] } };
    const { id } = this.keep(message.to, seen, (nth) => `M4V${nth}`);
    const accepted = { messageId: id, statusCode: '2000', statusMessage: '정상 접수(이통사로 접수 예정)' };
    return { body: { failedMessageList: [], groupInfo: { groupId: 'G4V1' }, messageList: [accepted] } };
  }

  #list(query: URLSearchParams): VendorAnswer {
    const value = query.get('value');
    const found = this.messages.filter(({ id, to }) => value === (query.get('criteria') === 'to' ? to : id));
    const messageList = Object.fromEntries(found.map((message) => [message.id, storedOf(message)]));
    return { body: { startKey: null, nextKey: null, limit: 20, messageList } };
  }
}

function storedOf({ id, to, request, state }: KeptMessage): object {
  const [sent] = request.body.messages;
  return {
    ...{ _id: id, messageId: id, to, type: state === 'resent' ? 'LMS' : 'ATA', customFields: sent.customFields },
    ...{
      statusCode: CODES[state],
      replacement: state === 'resent',
      reason: state === 'failed' ? '카카오톡 미사용자' : null,
    },
  };
}
