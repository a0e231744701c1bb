import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { seoulTime } from '../../src/channels/senders/config-fields.ts';
import { NotAccepted } from '../../src/channels/senders/not-accepted.ts';
import { koreanMobile } from '../../src/channels/senders/phone.ts';
import type { OutgoingMessage, SenderConnection } from '../../src/channels/senders/sender.ts';
import { SENDERS } from '../../src/channels/senders/senders.ts';
import { signature } from '../../src/channels/senders/sens.ts';
import { authorization } from '../../src/channels/senders/solapi.ts';
import { eucKrBytes, fillIn, variablesIn } from '../../src/channels/senders/template-text.ts';
import { openVendor, type VendorConnections } from '../../src/channels/senders/vendor-call.ts';
import { Secret } from '../../src/platform/secret.ts';
import { FakeNhn } from '../support/fake-senders/fake-nhn.ts';
import { FakeSens } from '../support/fake-senders/fake-sens.ts';
import { FakeSolapi } from '../support/fake-senders/fake-solapi.ts';
import { freePort } from '../support/free-port.ts';

// Conformance of vendors of Alimtalk against fakes that follow the vendors' pages, which each fake names.

const TEXT = '민수님, 주문 7이 접수되었습니다.';
const SMS = { type: 'SMS', from: '0212345678', title: null, text: TEXT } as const;

/** Parts of the requests that differ between the vendors. */
const EXPECTED: Record<string, { readonly body: object; readonly resend: object }> = {
  sens: {
    body: {
      ...{ plusFriendId: '@shop', templateCode: 'ORDER' },
      messages: [
        {
          ...{ countryCode: '82', to: '01012345678', content: TEXT, useSmsFailover: false },
          buttons: [{ type: 'WL', name: '보기', linkMobile: 'https://m.example.com/7', linkPc: 'https://example.com' }],
        },
      ],
    },
    resend: {
      messages: [{ useSmsFailover: true, failoverConfig: { type: 'SMS', from: '0212345678', content: TEXT } }],
    },
  },
  solapi: {
    body: {
      ...{ allowDuplicates: false, showMessageList: true },
      messages: [
        {
          ...{ to: '01012345678', type: 'ATA', country: '82', customFields: { notification: 'msg_1' } },
          kakaoOptions: {
            ...{ pfId: 'KA01PF0123', templateId: 'ORDER', disableSms: true },
            variables: { '#{name}': '민수', '#{number}': '7' },
          },
        },
      ],
    },
    resend: { messages: [{ from: '0212345678', kakaoOptions: { disableSms: false } }] },
  },
  nhn: {
    body: {
      ...{ senderKey: 'a'.repeat(40), templateCode: 'ORDER' },
      recipientList: [
        {
          ...{ recipientNo: '01012345678', recipientGroupingKey: 'msg_1', resendParameter: { isResend: false } },
          templateParameter: { name: '민수', number: '7' },
        },
      ],
    },
    resend: {
      recipientList: [
        { resendParameter: { isResend: true, resendType: 'SMS', resendSendNo: '0212345678', resendContent: TEXT } },
      ],
    },
  },
};

describe.each([new FakeSens(), new FakeSolapi(), new FakeNhn()])('$provider', (fake) => {
  let vendor: VendorConnections;
  let connection: Required<SenderConnection>;
  const connect = (config: object, connections = vendor) => {
    const sender = SENDERS.get(fake.provider);
    if (sender === undefined) throw new Error(`there is no sender ${fake.provider}`);
    return sender.connect(sender.config.parse(config), connections.call) as Required<SenderConnection>;
  };
  /** Make a message with the template as the vendor has it. */
  const messageOf = async (part: Partial<OutgoingMessage> = {}): Promise<OutgoingMessage> => {
    const args = part.args ?? { name: '민수', number: '7' };
    const template = await connection.template('ORDER');
    if (template === null) throw new Error('the vendor has no template ORDER');
    const rendered = fillIn({ text: template.text, buttons: template.buttons }, args);
    const common = { id: 'msg_1', phone: '01012345678', templateCode: 'ORDER', instead: null, requestedAt: new Date() };
    return { ...common, args, rendered, ...part };
  };
  const faultOf = async (sending: Promise<unknown>) => {
    const error = await sending.then(() => null).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(NotAccepted);
    const { kind, reason } = error as NotAccepted;
    return { kind, reason };
  };

  beforeAll(async () => {
    await fake.start();
    vendor = openVendor({ baseUrl: fake.url, timeoutMs: 5000 });
    connection = connect(fake.config);
  });
  afterAll(async () => {
    await vendor.close();
    await fake.close();
  });
  beforeEach(() => fake.reset());

  it('sends a notification in the form of the vendor and returns its id', async () => {
    const id = await connection.send(await messageOf());
    expect(fake.messages).toMatchObject([{ id, to: '01012345678' }]);
    expect(fake.sends.map(({ body }) => body)).toEqual([EXPECTED[fake.provider]?.body]);
  });

  it('asks the vendor to send a text message instead if the notification has one', async () => {
    await connection.send(await messageOf({ instead: SMS }));
    expect(fake.sends[0]?.body).toMatchObject(EXPECTED[fake.provider]?.resend ?? {});
  });

  it('sends a text message with a title', async () => {
    await connection.send(await messageOf({ instead: { ...SMS, type: 'LMS', title: '주문' } }));
    expect(JSON.stringify(fake.sends[0]?.body)).toMatch(/"(?:subject|resendTitle)":"주문"/);
  });

  it('reads a template with the names of its variables, and knows none for another code', async () => {
    const template = await connection.template('ORDER');
    expect(template).toMatchObject({ text: '#{name}님, 주문 #{number}이 접수되었습니다.', unusable: null });
    expect(template?.variables.toSorted()).toEqual(['name', 'number']);
    const none = await connection.template('NONE').catch((error: NotAccepted) => error.kind);
    expect([null, 'rejected']).toContain(none);
  });

  it('says in the words of the vendor why a template cannot be used', async () => {
    expect((await connection.template('DRAFT'))?.unusable).toMatch(/INSPECT|PENDING|TSC02/);
  });

  it('calls a message that the vendor refuses rejected, with the reason of the vendor', async () => {
    const refused = messageOf({ args: { name: 'refuse', number: '7' } });
    const fault = await faultOf(connection.send(await refused));
    expect(fault.kind).toBe('rejected');
    expect(fault.reason).toMatch(/A105 NoMatchedTemplate|1042 유효한 템플릿|-3003 Template does not exist/);
    expect(fake.messages).toEqual([]);
  });

  it('calls wrong credentials refused and shows none of them', async () => {
    const wrong = Object.fromEntries(
      Object.entries(fake.config).map(([name, value]) => [name, name.includes('secret') ? 'wrong-canary-0123' : value]),
    );
    const message = await messageOf();
    const fault = await faultOf(connect(wrong).send(message));
    expect(fault.kind).toBe('refused');
    expect(fault.reason).not.toContain('canary');
    expect(fake.messages).toEqual([]);
  });

  it.each([
    [429, 'busy'],
    [500, 'busy'],
    [503, 'busy'],
    [400, 'rejected'],
    [403, 'refused'],
    [302, 'refused'],
  ] as const)('classifies status %s as %s', async (status, kind) => {
    const message = await messageOf();
    fake.instead = () => ({ status, body: '<html>', headers: { 'retry-after': '7', location: 'https://example.com' } });
    expect(await faultOf(connection.send(message))).toEqual({ kind, reason: `http_${status}` });
  });

  it('does not know the outcome after a reset, a timeout, HTML or an answer without an id', async () => {
    const message = await messageOf();
    fake.takeAndReset();
    expect(await faultOf(connection.send(message))).toEqual({ kind: 'unknown', reason: 'connection' });
    fake.instead = () => ({ body: '<html>' });
    expect(await faultOf(connection.send(message))).toEqual({ kind: 'unknown', reason: 'invalid_answer' });
    fake.instead = () => ({ body: {} });
    expect(await faultOf(connection.send(message))).toEqual({ kind: 'unknown', reason: 'invalid_answer' });
    fake.instead = () => undefined;
    const slow = openVendor({ baseUrl: fake.url, timeoutMs: 200 });
    expect(await faultOf(connect(fake.config, slow).send(message))).toEqual({ kind: 'unknown', reason: 'timeout' });
    await slow.close();
  });

  it('calls the vendor busy if it refuses the connection', async () => {
    const gone = openVendor({ baseUrl: `http://127.0.0.1:${await freePort()}`, timeoutMs: 5000 });
    const fault = await faultOf(connect(fake.config, gone).send(await messageOf()));
    expect(fault).toEqual({ kind: 'busy', reason: 'connection' });
    await gone.close();
  });

  it('calls a proxy in front of the vendor with the path of its address', async () => {
    const proxied = openVendor({ baseUrl: `${fake.url}/proxy/`, timeoutMs: 5000 });
    await connect(fake.config, proxied)
      .template('ORDER')
      .catch(() => undefined);
    expect(fake.seen.at(-1)?.path).toMatch(/^\/proxy\/[ak]/);
    await proxied.close();
  });

  it('reports the state of a message: waiting, delivered, delivered as a text message, failed', async () => {
    const id = await connection.send(await messageOf({ instead: SMS }));
    const [kept] = fake.messages;
    if (kept === undefined) throw new Error('the vendor kept no message');
    expect(await connection.report(id)).toEqual({ state: 'pending' });
    kept.state = 'delivered';
    expect(await connection.report(id)).toEqual({ state: 'delivered', as: 'notification' });
    kept.state = 'resent';
    expect(await connection.report(id)).toEqual({ state: 'delivered', as: 'text' });
    kept.state = 'failed';
    expect(await connection.report(id)).toEqual({
      state: 'failed',
      reason: expect.stringMatching(/3018 NoSendAvailable|3104 카카오톡 미사용자|FAILED MRC02 실패/),
    });
  });

  it('finds a message that was accepted without an answer, and none that was not', async () => {
    const message = await messageOf();
    expect(await connection.find(message, new Set())).toBe('absent');
    fake.takeAndReset();
    await faultOf(connection.send(message));
    fake.instead = null;
    expect(await connection.find(message, new Set())).toEqual({ messageId: fake.messages[0]?.id });
  });
});

test('SENS does not choose between two equal messages, and leaves out those that are known', async () => {
  const fake = await new FakeSens().start();
  const vendor = openVendor({ baseUrl: fake.url, timeoutMs: 5000 });
  const sender = SENDERS.get('sens');
  const connection = sender?.connect(sender.config.parse(fake.config), vendor.call) as Required<SenderConnection>;
  const common = { id: 'msg_1', phone: '01012345678', templateCode: 'ORDER', args: {}, instead: null };
  const message = { ...common, rendered: { text: TEXT, buttons: [] }, requestedAt: new Date() };
  const first = await connection.send(message);
  await connection.send(message);
  expect(await connection.find(message, new Set())).toBe('unclear');
  expect(await connection.find(message, new Set([first]))).toEqual({ messageId: fake.messages[1]?.id });
  await vendor.close();
  await fake.close();
});

test('an id of a message that no table can hold is an unusable answer', async () => {
  const fake = await new FakeSens().start();
  const vendor = openVendor({ baseUrl: fake.url, timeoutMs: 5000 });
  const sender = SENDERS.get('sens');
  const connection = sender?.connect(sender.config.parse(fake.config), vendor.call);
  fake.instead = () => ({ body: { messages: [{ messageId: 'a\u0000b', requestStatusCode: 'A000' }] } });
  const common = { id: 'msg_1', phone: '01012345678', templateCode: 'ORDER', args: {}, instead: null };
  const message = { ...common, rendered: { text: TEXT, buttons: [] }, requestedAt: new Date() };
  await expect(connection?.send(message)).rejects.toMatchObject({ kind: 'unknown', reason: 'invalid_answer' });
  await vendor.close();
  await fake.close();
});

test('signatures follow the vendors', () => {
  // Computed with openssl: printf 'GET /p?q=1\n1700000000000\naccess' | openssl dgst -sha256 -hmac secret -binary | base64
  expect(signature('GET /p?q=1', '1700000000000', 'access', new Secret('secret'))).toBe(
    'W7tP95VvIV2lFX3rxXeFCPUjS7yiEnzYLu4h3TCHro8=',
  );
  // printf '2019-07-01T00:41:48Zjqsba2jxjnrjor' | openssl dgst -sha256 -hmac secret
  expect(authorization('NCSAYU7YDBXYORXC', new Secret('secret'), '2019-07-01T00:41:48Z', 'jqsba2jxjnrjor')).toBe(
    'HMAC-SHA256 apiKey=NCSAYU7YDBXYORXC, date=2019-07-01T00:41:48Z, salt=jqsba2jxjnrjor, signature=4297539ca79c85dd83b60cbddae60942710223ddcafc4bf02275193a649057ce',
  );
});

test.each([
  ['+821012345678', '01012345678'],
  ['821012345678', '01012345678'],
  ['+8201012345678', '01012345678'],
  ['01012345678', '01012345678'],
  ['0111234567', '0111234567'],
  ['+14155550123', null],
  ['0212345678', null],
  ['010123456', null],
  ['0101234567890', null],
])('the Korean mobile number of %s is %s', (phone, national) => {
  expect(koreanMobile(phone)).toBe(national);
});

test('variables are found and replaced in all strings, and values are not searched for variables', () => {
  const template = { text: '#{a} and #{b}, #{a}', buttons: [{ link: 'https://example.com/#{c}', order: 1 }] };
  expect(variablesIn(template)).toEqual(['a', 'b', 'c']);
  expect(fillIn(template, { a: '#{b}', b: '2', c: '3' })).toEqual({
    text: '#{b} and 2, #{b}',
    buttons: [{ link: 'https://example.com/3', order: 1 }],
  });
  expect(fillIn('#{toString}', {})).toBe('#{toString}');
});

test('text messages are measured in bytes of EUC-KR', () => {
  expect(eucKrBytes('주문 7')).toBe(6);
});

test('times in queries are in Korean time', () => {
  expect(seoulTime(new Date('2026-11-29T15:30:05.999Z'))).toBe('2026-11-30 00:30:05');
});
