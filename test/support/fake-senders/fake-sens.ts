import { createHmac } from 'node:crypto';
import { FakeVendor, type KeptMessage, type VendorAnswer, type VendorSeen } from './fake-vendor.ts';

const SERVICE = 'ncp:kkobizmsg:kr:1234567:shop';
const TEMPLATES = [
  {
    ...{ channelId: '@shop', templateCode: 'ORDER', templateName: 'order', templateStatus: 'READY' },
    content: '#{name}님, 주문 #{number}이 접수되었습니다.',
    templateInspectionStatus: 'COMPLETE',
    buttons: [
      {
        order: 1,
        type: 'WL',
        name: '보기',
        linkMobile: 'https://m.example.com/#{number}',
        linkPc: 'https://example.com',
      },
    ],
  },
  {
    ...{ channelId: '@shop', templateCode: 'DRAFT', templateName: 'draft', templateStatus: 'READY' },
    ...{ content: 'draft', templateInspectionStatus: 'INSPECT', buttons: [] },
  },
];

/**
 * SENS as its pages describe it (api.ncloud-docs.com: sens-overview, sens-alimtalk-send, sens-alimtalk-get,
 * sens-alimtalk-list, sens-alimtalk-template-get; signature: common-ncpapi).
 */
export class FakeSens extends FakeVendor {
  readonly provider = 'sens';
  readonly config = {
    ...{ access_key: 'sens-access-canary-0123456789', secret_key: 'sens-secret-canary-0123456789' },
    ...{ service_id: SERVICE, channel_id: '@shop' },
  };

  protected isAuthorized({ method, path, headers }: VendorSeen): boolean {
    const timestamp = String(headers['x-ncp-apigw-timestamp']);
    const signed = [`${method} ${path}`, timestamp, this.config.access_key].join('\n');
    const expected = createHmac('sha256', this.config.secret_key).update(signed).digest('base64');
    const isRecent = Math.abs(Date.now() - Number(timestamp)) < 5 * 60_000;
    return (
      isRecent &&
      headers['x-ncp-iam-access-key'] === this.config.access_key &&
      headers['x-ncp-apigw-signature-v2'] === expected
    );
  }

  protected refusal(): VendorAnswer {
    const message = `Authentication Failed for ${this.config.access_key}`;
    return {
      status: 401,
      body: { error: { errorCode: '200', message, details: 'Invalid authentication information.' } },
    };
  }

  protected answer(seen: VendorSeen): VendorAnswer {
    const root = `/alimtalk/v2/services/${SERVICE}`;
    const path = seen.url.pathname.replace(root, '');
    if (seen.method === 'POST' && path === '/messages') return this.#send(seen);
    if (path === '/templates') return this.#templates(seen.url.searchParams);
    if (path === '/messages') return this.#list(seen.url.searchParams);
    const message = this.messages.find(({ id }) => path === `/messages/${id}`);
    return message ? { body: resultOf(message) } : { status: 404, body: { status: 404, errors: 'Not Found' } };
  }

  #send(seen: VendorSeen): VendorAnswer {
    const [message] = seen.body.messages;
    if (!TEMPLATES.some(({ templateCode }) => templateCode === seen.body.templateCode)) {
      return { status: 400, body: { status: 400, errors: 'Bad Request', errorMessage: 'template not found' } };
    }
    const isRefused = message.content.includes('refuse');
    const kept = isRefused ? null : this.keep(message.to, seen);
    const status = isRefused
      ? { requestStatusCode: 'A105', requestStatusName: 'fail', requestStatusDesc: 'NoMatchedTemplate' }
      : { messageId: kept?.id, requestStatusCode: 'A000', requestStatusName: 'success', requestStatusDesc: '성공' };
    return {
      status: 202,
      body: {
        ...{ requestId: 'r-1', requestTime: '2026-11-29T23:40:39.123', statusCode: '202', statusName: 'success' },
        messages: [{ countryCode: '82', to: message.to, content: message.content, ...status }],
      },
    };
  }

  #templates(query: URLSearchParams): VendorAnswer {
    const found = TEMPLATES.filter(
      ({ channelId, templateCode }) =>
        channelId === query.get('channelId') && templateCode === query.get('templateCode'),
    );
    return { body: found };
  }

  #list(query: URLSearchParams): VendorAnswer {
    const [from, to] = [query.get('requestStartTime') ?? '', query.get('requestEndTime') ?? ''];
    const isTime = [from, to].every((time) => /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(time)) && from < to;
    if (!isTime) return { status: 400, body: { status: 400, errors: 'Bad Request', errorMessage: 'requestStartTime' } };
    const messages = this.messages.filter(
      (message) =>
        message.to === query.get('to') &&
        message.request.body.templateCode === query.get('templateCode') &&
        query.get('plusFriendId') === '@shop',
    );
    if (messages.length === 0) return { status: 404, body: '' };
    return { body: { requestId: null, statusCode: '200', statusName: 'success', messages: messages.map(resultOf) } };
  }
}

function resultOf({ id, to, request, state }: KeptMessage): object {
  const [sent] = request.body.messages;
  const common = {
    ...{ requestId: 'r-1', messageId: id, plusFriendId: '@shop', templateCode: request.body.templateCode, to },
    ...{ countryCode: '82', content: sent.content, useSmsFailover: sent.useSmsFailover },
    ...{ requestStatusCode: 'A000', requestStatusName: 'success', requestStatusDesc: '성공' },
  };
  if (state === 'pending') return common;
  if (state === 'delivered') return { ...common, messageStatusCode: '0000', messageStatusName: 'success' };
  const failed = {
    ...common,
    messageStatusCode: '3018',
    messageStatusName: 'fail',
    messageStatusDesc: 'NoSendAvailable',
  };
  const name = state === 'resent' ? 'success' : 'fail';
  return sent.useSmsFailover ? { ...failed, failover: { messageStatusName: name, messageStatusDesc: name } } : failed;
}
