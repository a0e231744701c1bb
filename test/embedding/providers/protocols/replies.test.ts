import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { protocolOf } from '../../../../src/embedding/providers/protocols/protocol-of.ts';
import { PROTOCOLS } from '../../../../src/embedding/providers/provider.ts';
import { UpstreamFault } from '../../../../src/platform/upstream/upstream-fault.ts';
import { WIRE } from '../../../support/fake-upstream/protocols.ts';
import { type Behaviour, FakeUpstream, fakeTokens } from '../../../support/fake-upstream.ts';
import { callOf, faultIn, modelOf, send } from './send.ts';

const TEXTS = ['one', '둘', 'three'];
const EXPECTED = { count: 3, dimensions: 48 };

describe.each(PROTOCOLS)('an answer of protocol %s', (name) => {
  const protocol = protocolOf(name);
  const { indexed } = WIRE[name];
  let fake: FakeUpstream;
  let numbersOnly: FakeUpstream;

  beforeAll(async () => {
    fake = await FakeUpstream.start({ dimensions: 48 });
    numbersOnly = await FakeUpstream.start({ dimensions: 48, numbersOnly: true });
  });
  afterAll(() => Promise.all([fake.close(), numbersOnly.close()]));

  async function ask(upstream: FakeUpstream, behaviour: Behaviour = { kind: 'ok' }) {
    upstream.next(behaviour);
    return await send(upstream.baseUrl(name), protocol.request(callOf({ upstreamModel: modelOf(name), texts: TEXTS })));
  }

  /** Vectors of the texts, one after the other. */
  function rows(): Float32Array {
    const model = fake.calls[0]?.model ?? 'm';
    return Float32Array.from(TEXTS.flatMap((text) => [...fake.vectorOf(model, text)]));
  }

  it('an answer is parsed to vectors in the order of the texts, with the tokens of the call', async () => {
    const parsed = protocol.parse(await ask(fake), EXPECTED);
    expect(parsed.vectors).toEqual(rows());
    expect(parsed.tokens).toBe(TEXTS.reduce((sum, text) => sum + fakeTokens(text), 0));
    expect(fake.violations).toEqual([]);
  });

  it('an answer may contain numbers where base64 was requested', async () => {
    expect(protocol.parse(await ask(numbersOnly), EXPECTED).vectors).toEqual(rows());
  });

  it('an answer with indexes may list its vectors in any order', async () => {
    for (const upstream of [fake, numbersOnly]) {
      expect(protocol.parse(await ask(upstream, { kind: 'shuffled' }), EXPECTED).vectors).toEqual(rows());
    }
  });

  it('vectors that the vendor did not normalise are normalised', async () => {
    const { vectors } = protocol.parse(await ask(fake, { kind: 'unnormalised' }), EXPECTED);
    const plain = rows();
    expect(vectors.every((value, at) => Math.abs(value - (plain[at] as number)) < 1e-6)).toBe(true);
    for (let row = 0; row < 3; row++) {
      const squares = vectors.subarray(row * 48, row * 48 + 48).reduce((sum, value) => sum + value * value, 0);
      expect(Math.sqrt(squares)).toBeCloseTo(1, 6);
    }
  });

  const badIndices: [Behaviour['kind'], string][] = [
    ['duplicate-index', 'bad_index'],
    ['bad-index', 'bad_index'],
  ];
  const nonsense: [Behaviour['kind'], string][] = [
    ...(indexed ? badIndices : []),
    ['html', 'bad_json'],
    ['empty', 'bad_json'],
    ['truncated-json', 'bad_json'],
    ['nan-bare', 'bad_json'],
    ['too-few', 'wrong_count'],
    ['too-many', 'wrong_count'],
    ['wrong-length', 'wrong_length'],
    ['nan', 'not_finite'],
    ['nan-text', 'not_finite'],
    ['zeros', 'zero_vector'],
  ];
  it.each(nonsense)('an answer of kind %s is a transient fault, never a result', async (kind, code) => {
    for (const upstream of [fake, numbersOnly]) {
      const fault = faultIn(protocol, await ask(upstream, { kind } as Behaviour), EXPECTED);
      expect(fault).toBeInstanceOf(UpstreamFault);
      expect(fault).toMatchObject({ kind: 'transient', code, status: null });
    }
  });

  it.each([
    'null',
    '[]',
    '{}',
    '0',
    '"x"',
    '{"data":null,"embeddings":null}',
    '{"data":{"length":3},"embeddings":{"length":3}}',
    '{"data":[1,2,3],"embeddings":[1,2,3]}',
    '{"data":[null,null,null],"embeddings":{"float":[null,null,null]}}',
    '{"__proto__":{"data":[],"embeddings":[]}}',
    '{"error":{"message":"said with status 200"}}',
    `${'['.repeat(10_000)}${']'.repeat(10_000)}`,
    '\ud83d',
  ])('an answer of another shape is a transient fault: %#', (body) => {
    const parse = () => protocol.parse({ headers: {}, body: Buffer.from(body) }, EXPECTED);
    expect(parse).toThrow(expect.objectContaining({ name: 'UpstreamFault', kind: 'transient' }));
  });

  it('an answer of another dimension than expected is a transient fault', async () => {
    const reply = await ask(fake);
    for (const dimensions of [47, 49, 1536]) {
      expect(faultIn(protocol, reply, { count: 3, dimensions })).toMatchObject({ code: 'wrong_length' });
    }
  });

  it('an answer without a token count has none', async () => {
    const reply = await ask(fake);
    const text = Buffer.from(reply.body)
      .toString()
      .replace(/"(usage|usageMetadata|meta|prompt_eval_count|statistics|inputTextTokenCount)":/g, '"other":');
    const { vectors, tokens } = protocol.parse({ headers: {}, body: Buffer.from(text) }, EXPECTED);
    expect(tokens).toBeNull();
    expect(vectors).toEqual(rows());
  });
});
