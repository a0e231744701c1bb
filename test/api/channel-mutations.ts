import { expect } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { createConfig, PATIENT, signedDelivery, WEBHOOK } from '../support/channels.ts';
import { createTestRandom, type SeededRandom } from '../support/random.ts';

interface Sent {
  readonly body: Buffer;
  readonly headers: Record<string, string>;
}

const TIMESTAMP = 'X-Messenger-Timestamp';
const SIGNATURE = 'X-Messenger-Signature';

/** Kinds of mutations. Each returns a request that usually differs from the valid one. */
const MUTATIONS: Readonly<Record<string, (valid: Sent, random: SeededRandom) => Sent>> = {
  'a byte of the body': ({ body, headers }, random) => {
    const changed = Buffer.from(body);
    const index = random.int(changed.length);
    changed[index] = (changed[index] ?? 0) ^ (1 + random.int(255));
    return { body: changed, headers };
  },
  'a byte more': ({ body, headers }, random) => {
    const index = random.int(body.length + 1);
    return {
      body: Buffer.concat([body.subarray(0, index), Buffer.of(random.int(256)), body.subarray(index)]),
      headers,
    };
  },
  'a byte less': ({ body, headers }, random) => {
    const index = random.int(body.length);
    return { body: Buffer.concat([body.subarray(0, index), body.subarray(index + 1)]), headers };
  },
  'the same JSON in other bytes': ({ body, headers }, random) => {
    const value = JSON.parse(body.toString());
    const reordered = JSON.stringify(Object.fromEntries(Object.entries(value).reverse()));
    const escaped = body.toString().replace(/[a-z]/, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`);
    const forms = [JSON.stringify(value, null, 1), reordered, `${body.toString()}\n`, ` ${body.toString()}`, escaped];
    return { body: Buffer.from(random.pick([...forms, `\ufeff${body.toString()}`])), headers };
  },
  'another encoding of the body': ({ body, headers }, random) => {
    const text = body.toString();
    return {
      body: random.pick([
        Buffer.from(text, 'utf16le'),
        Buffer.from(text.normalize('NFD')),
        Buffer.from(text, 'latin1'),
      ]),
      headers,
    };
  },
  'a digit of the signature': ({ body, headers }, random) => {
    const index = random.int(64);
    const digit = random.pick([...'0123456789abcdef'].filter((each) => each !== headers[SIGNATURE]?.[index]));
    const signature = headers[SIGNATURE] ?? '';
    return {
      body,
      headers: { ...headers, [SIGNATURE]: signature.slice(0, index) + digit + signature.slice(index + 1) },
    };
  },
  'the case or the form of the signature': ({ body, headers }, random) => {
    const signature = headers[SIGNATURE] ?? '';
    const bytes = Buffer.from(signature, 'hex');
    const forms = [signature.toUpperCase(), `sha256=${signature}`, signature.slice(0, 63), `${signature}0`];
    return {
      body,
      headers: {
        ...headers,
        [SIGNATURE]: random.pick([...forms, bytes.toString('base64'), `0x${signature}`, `${signature}, ${signature}`]),
      },
    };
  },
  'the time': ({ body, headers }, random) => {
    const time = Number(headers[TIMESTAMP]);
    const changed = String(time + (1 + random.int(600)) * random.pick([-1, 1]));
    return { body, headers: { ...headers, [TIMESTAMP]: changed } };
  },
  'the form of the time': ({ body, headers }, random) => {
    const time = headers[TIMESTAMP] ?? '';
    const forms = [`0${time}`, `+${time}`, `${time}.0`, `${time}000`, Number(time).toExponential(), `${time}s`];
    return { body, headers: { ...headers, [TIMESTAMP]: random.pick([...forms, `0x${Number(time).toString(16)}`]) } };
  },
  'a header that is missing or empty': ({ body, headers }, random) => {
    const name = random.pick([TIMESTAMP, SIGNATURE]);
    const others = Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name));
    return { body, headers: random.pick([others, { ...headers, [name]: '' }]) };
  },
  'headers that are exchanged': ({ body, headers }) => ({
    body,
    headers: { ...headers, [TIMESTAMP]: headers[SIGNATURE] ?? '', [SIGNATURE]: headers[TIMESTAMP] ?? '' },
  }),
  'the signature of another body': ({ body, headers }, random) => {
    const other = signedDelivery({ utterance: `other ${random.bits()}` }, { timestamp: headers[TIMESTAMP] ?? '' });
    return { body, headers: other.headers };
  },
  'the signature of another secret': ({ body, headers }, random) => {
    const timestamp = headers[TIMESTAMP] ?? '';
    return { body, headers: signedDelivery(body.toString(), { timestamp, secret: `other-${random.bits()}` }).headers };
  },
};

/** Check that every mutation of a valid delivery is refused, and that the delivery itself is answered. */
export async function checkMutations(count: number): Promise<void> {
  const random = createTestRandom('mutations of a delivery');
  const api: TestApi = await openTestApi({ settings: PATIENT, worker: false });
  try {
    await createConfig(api, await api.key({ scopes: ['channels:manage'] }));
    const kinds = Object.entries(MUTATIONS);
    const { body, headers } = signedDelivery({ utterance: '펌프는 언제 윤활합니까? Café 🧴' });
    const valid: Sent = { body: Buffer.from(body), headers };
    const tried = new Map<string, number>();
    for (let n = 0; n < count; ) {
      const [kind, mutate] = kinds[n % kinds.length] as (typeof kinds)[number];
      const mutated = mutate(valid, random);
      const isSame =
        mutated.body.equals(valid.body) && JSON.stringify(mutated.headers) === JSON.stringify(valid.headers);
      if (isSame) continue;
      const { status } = await api.call('POST', WEBHOOK, mutated);
      const details = { kind, status, body: mutated.body.toString('latin1'), headers: mutated.headers };
      expect({ ...details, isRefused: status === 403 || status === 400 }).toEqual({ ...details, isRefused: true });
      tried.set(kind, (tried.get(kind) ?? 0) + 1);
      n++;
    }
    expect(tried.size).toBe(kinds.length);
    const [calls] = await api.appliance.sql`SELECT count(*)::int AS rows FROM channel_replies`;
    expect(calls).toEqual({ rows: 0 });
    expect((await api.call('POST', WEBHOOK, valid)).status).toBe(200);
  } finally {
    await api.close();
  }
}
