import { expect } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { createConfig, PATIENT, signedDelivery, WEBHOOK } from '../support/channels.ts';
import { type Dice, throwDice } from '../support/dice.ts';

interface Sent {
  readonly body: Buffer;
  readonly headers: Record<string, string>;
}

const TIMESTAMP = 'X-Messenger-Timestamp';
const SIGNATURE = 'X-Messenger-Signature';

/** Kinds of mutations. Each returns a request that differs from the valid one, or the same where the dice made it so. */
const MUTATIONS: Readonly<Record<string, (valid: Sent, dice: Dice) => Sent>> = {
  'a byte of the body': ({ body, headers }, dice) => {
    const changed = Buffer.from(body);
    const at = dice.int(changed.length);
    changed[at] = (changed[at] ?? 0) ^ (1 + dice.int(255));
    return { body: changed, headers };
  },
  'a byte more': ({ body, headers }, dice) => {
    const at = dice.int(body.length + 1);
    return { body: Buffer.concat([body.subarray(0, at), Buffer.of(dice.int(256)), body.subarray(at)]), headers };
  },
  'a byte less': ({ body, headers }, dice) => {
    const at = dice.int(body.length);
    return { body: Buffer.concat([body.subarray(0, at), body.subarray(at + 1)]), headers };
  },
  'the same JSON in other bytes': ({ body, headers }, dice) => {
    const value = JSON.parse(body.toString());
    const reordered = JSON.stringify(Object.fromEntries(Object.entries(value).reverse()));
    const escaped = body.toString().replace(/[a-z]/, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`);
    const forms = [JSON.stringify(value, null, 1), reordered, `${body.toString()}\n`, ` ${body.toString()}`, escaped];
    return { body: Buffer.from(dice.pick([...forms, `\ufeff${body.toString()}`])), headers };
  },
  'another encoding of the body': ({ body, headers }, dice) => {
    const text = body.toString();
    return {
      body: dice.pick([Buffer.from(text, 'utf16le'), Buffer.from(text.normalize('NFD')), Buffer.from(text, 'latin1')]),
      headers,
    };
  },
  'a digit of the signature': ({ body, headers }, dice) => {
    const at = dice.int(64);
    const digit = dice.pick([...'0123456789abcdef'].filter((each) => each !== headers[SIGNATURE]?.[at]));
    const signature = headers[SIGNATURE] ?? '';
    return { body, headers: { ...headers, [SIGNATURE]: signature.slice(0, at) + digit + signature.slice(at + 1) } };
  },
  'the case or the form of the signature': ({ body, headers }, dice) => {
    const signature = headers[SIGNATURE] ?? '';
    const bytes = Buffer.from(signature, 'hex');
    const forms = [signature.toUpperCase(), `sha256=${signature}`, signature.slice(0, 63), `${signature}0`];
    return {
      body,
      headers: {
        ...headers,
        [SIGNATURE]: dice.pick([...forms, bytes.toString('base64'), `0x${signature}`, `${signature}, ${signature}`]),
      },
    };
  },
  'the time': ({ body, headers }, dice) => {
    const time = Number(headers[TIMESTAMP]);
    const changed = String(time + (1 + dice.int(600)) * dice.pick([-1, 1]));
    return { body, headers: { ...headers, [TIMESTAMP]: changed } };
  },
  'the form of the time': ({ body, headers }, dice) => {
    const time = headers[TIMESTAMP] ?? '';
    const forms = [`0${time}`, `+${time}`, `${time}.0`, `${time}000`, Number(time).toExponential(), `${time}s`];
    return { body, headers: { ...headers, [TIMESTAMP]: dice.pick([...forms, `0x${Number(time).toString(16)}`]) } };
  },
  'a header that is missing or empty': ({ body, headers }, dice) => {
    const name = dice.pick([TIMESTAMP, SIGNATURE]);
    const rest = Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name));
    return { body, headers: dice.pick([rest, { ...headers, [name]: '' }]) };
  },
  'headers that are exchanged': ({ body, headers }) => ({
    body,
    headers: { ...headers, [TIMESTAMP]: headers[SIGNATURE] ?? '', [SIGNATURE]: headers[TIMESTAMP] ?? '' },
  }),
  'the signature of another body': ({ body, headers }, dice) => {
    const other = signedDelivery({ utterance: `other ${dice.bits()}` }, { timestamp: headers[TIMESTAMP] ?? '' });
    return { body, headers: other.headers };
  },
  'the signature of another secret': ({ body, headers }, dice) => {
    const timestamp = headers[TIMESTAMP] ?? '';
    return { body, headers: signedDelivery(body.toString(), { timestamp, secret: `other-${dice.bits()}` }).headers };
  },
};

/** Check that every mutation of a valid delivery is refused, and that the delivery itself is answered. */
export async function checkMutations(count: number): Promise<void> {
  const dice = throwDice('mutations of a delivery');
  const api: TestApi = await openTestApi({ settings: PATIENT, worker: false });
  try {
    await createConfig(api, await api.key({ scopes: ['channels:manage'] }));
    const kinds = Object.entries(MUTATIONS);
    const { body, headers } = signedDelivery({ utterance: '펌프는 언제 윤활합니까? Café 🧴' });
    const valid: Sent = { body: Buffer.from(body), headers };
    const tried = new Map<string, number>();
    for (let n = 0; n < count; ) {
      const [kind, mutate] = kinds[n % kinds.length] as (typeof kinds)[number];
      const mutated = mutate(valid, dice);
      const isSame =
        mutated.body.equals(valid.body) && JSON.stringify(mutated.headers) === JSON.stringify(valid.headers);
      if (isSame) continue;
      const { status } = await api.call('POST', WEBHOOK, mutated);
      const what = { kind, status, body: mutated.body.toString('latin1'), headers: mutated.headers };
      expect({ ...what, isRefused: status === 403 || status === 400 }).toEqual({ ...what, isRefused: true });
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
