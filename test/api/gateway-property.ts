import fc from 'fast-check';
import { expect } from 'vitest';
import type { TaskType } from '../../src/models/task-types.ts';
import type { Answer } from '../support/api.ts';
import type { FakeUpstream, UpstreamCallSeen } from '../support/fake-upstream.ts';
import { KOREAN, LARGE, MULTILINGUAL, openTestGateway, SMALL, type TestGateway } from '../support/gateway.ts';
import { SEED } from '../support/random.ts';

// Several clients send texts that are cached, pending, new, repeated and in several languages at the same time. Each
// text must be answered as if it had been sent alone to an installation that never saw another text.

/** Models whose tokens are counted exactly, so that a text costs the same in any batch. A vendor reports only sums. */
const EXACT = { models: [KOREAN, MULTILINGUAL].map((id) => ({ id, tokenizer: 'cl100k' })) };
const DELAYS_MS = [0, 0, 1, 5, 12];
const WIRE_NAMES: Readonly<Record<string, string>> = {
  [SMALL]: 'text-embedding-3-small',
  [LARGE]: 'text-embedding-3-large',
  [KOREAN]: 'tei',
  [MULTILINGUAL]: 'embeddings-v3',
};
const NATIVE: Readonly<Record<string, number>> = { [SMALL]: 1536, [LARGE]: 3072, [KOREAN]: 1024, [MULTILINGUAL]: 1024 };

const TEXTS = [
  'the ferry leaves the harbour at seven in the morning',
  'la marée basse est à midi et le bateau attend au port',
  '배는 아침 일곱 시에 항구를 떠납니다',
  '내일 오후에는 비가 오고 바람이 강하게 불겠습니다',
  'The 제주 ferry and 부산 harbour 시간표 for tomorrow morning',
  'ok',
  '42',
  ' ',
  '\ud800',
  '\udfff',
  '🏳️‍🌈 ferry',
  'tide tables list high water at dawn and again at dusk '.repeat(30),
] as const;

const request = fc.record({
  model: fc.constantFrom<(string | undefined)[]>(undefined, SMALL, SMALL, LARGE, KOREAN, MULTILINGUAL),
  task: fc.constantFrom<(TaskType | undefined)[]>(
    undefined,
    undefined,
    'retrieval_query',
    'question_answering',
    'clustering',
  ),
  dimensions: fc.constantFrom<(number | undefined)[]>(undefined, 8, 256, 2000),
  /** Indexes into the texts; the salt makes a text new. */
  texts: fc.array(fc.tuple(fc.nat(TEXTS.length - 1), fc.nat(1)), { minLength: 1, maxLength: 8 }),
  isBatch: fc.boolean(),
});
/** Requests of one round are sent at the same time. Texts of earlier rounds are cached. */
const plan = fc.record({
  rounds: fc.array(fc.array(request, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 3 }),
  delays: fc.array(fc.constantFrom(...DELAYS_MS), { minLength: 1, maxLength: 5 }),
});
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

interface Sent {
  readonly model: string | undefined;
  readonly task: TaskType | undefined;
  readonly dimensions: number | undefined;
  readonly texts: readonly string[];
  readonly isBatch: boolean;
}
interface Received {
  readonly vectors: readonly (readonly number[])[];
  readonly tokens: number;
  readonly model: string;
}

async function send(to: TestGateway, key: string, sent: Sent): Promise<Received> {
  const { model, task, dimensions, texts, isBatch } = sent;
  const common = { model, dimensions, task_type: task };
  const json = isBatch ? { texts, ...common } : { input: texts, ...common };
  const answer = await to.call('POST', isBatch ? '/v1/embed/batch' : '/v1/embeddings', { key, json });
  expect([answer.status, answer.body.error]).toEqual([200, undefined]);
  return isBatch ? readBatch(answer, sent) : readList(answer, sent);
}

function readBatch({ body }: Answer, { texts }: Sent): Received {
  expect(body.usage.count).toBe(texts.length);
  return { vectors: body.embeddings, tokens: body.usage.tokens, model: body.model };
}

function readList({ body }: Answer, { texts }: Sent): Received {
  expect(body.data.map((item: { index: number }) => item.index)).toEqual(texts.map((_, index) => index));
  const vectors = body.data.map((item: { embedding: number[] }) => item.embedding);
  return { vectors, tokens: body.usage.prompt_tokens, model: body.model };
}

/** Return the first index at which two lists of numbers differ by more than `tolerance`, or -1. */
function findDifference(left: readonly number[], right: readonly number[], tolerance: number): number {
  if (left.length !== right.length) return Math.min(left.length, right.length);
  for (let i = 0; i < left.length; i++) {
    if (Math.abs((left[i] as number) - (right[i] as number)) > tolerance) return i;
  }
  return -1;
}

/** Return the vendor's vector, cut or padded, and normalised. */
function vectorFor(test: TestGateway, model: string, text: string, dimensions: number): number[] {
  const server = model === KOREAN ? test.korean : test.upstream;
  const native = server.vectorOf(WIRE_NAMES[model] as string, text.toWellFormed());
  const kept = Array.from({ length: dimensions }, (_, i) => native[i] ?? 0);
  const norm = Math.sqrt(kept.reduce((sum, x) => sum + x * x, 0));
  return kept.map((x) => x / norm);
}

/** Names of tasks in the vendor's protocol. A task without a name still gets a call of its own. */
const JINA_TASKS: Partial<Record<TaskType, string>> = {
  retrieval_query: 'retrieval.query',
  question_answering: 'retrieval.query',
  clustering: 'separation',
};
const wireKey = (name: string, task: string | null, text: string) => JSON.stringify([name, task, text.toWellFormed()]);

/** Two installations: one gets the requests of many clients at the same time, the other gets one text at a time. */
class Comparison {
  readonly #test: TestGateway;
  readonly #alone: TestGateway;
  readonly #keys: { readonly test: string; readonly alone: string };
  readonly #isCaching: boolean;
  readonly #known = new Map<string, Promise<Received>>();
  readonly #sum = { texts: 0, tokens: 0, requests: 0 };
  #run = 0;

  private constructor(
    test: TestGateway,
    alone: TestGateway,
    keys: { readonly test: string; readonly alone: string },
    isCaching: boolean,
  ) {
    this.#test = test;
    this.#alone = alone;
    this.#keys = keys;
    this.#isCaching = isCaching;
  }

  static async open(cacheBytes: number): Promise<Comparison> {
    const test = await openTestGateway({ ...EXACT, embeddings: { cache_bytes: cacheBytes } });
    const alone = await openTestGateway({ ...EXACT, embeddings: { cache_bytes: 0 } });
    const keys = { test: await test.key({ scopes: ['embed'] }), alone: await alone.key({ scopes: ['embed'] }) };
    return new Comparison(test, alone, keys, cacheBytes > 0);
  }

  async close(): Promise<void> {
    await this.#test.close();
    await this.#alone.close();
  }

  /** Send the rounds of a plan one after the other, and compare every answer with that of the other installation. */
  async check({ rounds, delays }: Plan): Promise<void> {
    this.#run++;
    this.#known.clear();
    const { upstream, korean } = this.#test;
    const watches = [watch(upstream, delays), watch(korean, delays)];
    const wanted = new Map<string, Set<string>>();
    for (const round of rounds) {
      const all = round.map(({ texts, ...rest }): Sent => {
        return { ...rest, texts: texts.map(([index, salt]) => `${TEXTS[index]}${this.#run}.${salt}`) };
      });
      const answers = await Promise.all(all.map((sent) => send(this.#test, this.#keys.test, sent)));
      for (const [index, sent] of all.entries()) {
        const received = answers[index] as Received;
        await this.#checkAnswer(sent, received);
        this.#sum.requests += 1;
        this.#sum.texts += sent.texts.length;
        this.#sum.tokens += received.tokens;
        const wireTask = received.model === MULTILINGUAL && sent.task ? (JINA_TASKS[sent.task] ?? null) : null;
        for (const text of sent.texts) {
          const id = wireKey(WIRE_NAMES[received.model] as string, wireTask, text);
          wanted.set(id, (wanted.get(id) ?? new Set()).add(JSON.stringify([sent.task, text])));
        }
      }
    }
    for (const seen of watches) this.#checkCalls(seen, wanted);
    expect([...upstream.violations, ...korean.violations]).toEqual([]);
  }

  /** Check that usage counts all requests, texts and tokens that were sent. */
  async checkUsage(): Promise<void> {
    const { body } = await this.#test.call('GET', '/v1/usage/summary', { key: this.#keys.test });
    const { embed, embed_batch: batch } = body.axes;
    expect({
      requests: embed.requests + batch.requests,
      texts: embed.texts + batch.texts,
      tokens: embed.tokens + batch.tokens,
    }).toEqual(this.#sum);
  }

  async #checkAnswer(sent: Sent, received: Received): Promise<void> {
    expect(received.model).toBe(sent.model ?? received.model);
    expect(received.vectors).toHaveLength(sent.texts.length);
    const isFixed = sent.model === KOREAN;
    const standard = sent.model === undefined ? 1024 : (NATIVE[received.model] as number);
    const dimensions = isFixed ? 1024 : (sent.dimensions ?? standard);
    let tokens = 0;
    for (const [index, text] of sent.texts.entries()) {
      const vector = received.vectors[index] as number[];
      expect(findDifference(vector, vectorFor(this.#test, received.model, text, dimensions), 1e-6)).toBe(-1);
      const reference = await this.#sendAlone(received.model, sent, text);
      if (sent.model !== undefined) expect(findDifference(vector, reference.vectors[0] as number[], 0)).toBe(-1);
      tokens += reference.tokens;
    }
    expect(received.tokens).toBe(tokens);
  }

  #sendAlone(model: string, sent: Sent, text: string): Promise<Received> {
    const { task, dimensions } = sent;
    const id = JSON.stringify([model, task, dimensions, text]);
    const alone = { ...sent, model, texts: [text], isBatch: false };
    const reply = this.#known.get(id) ?? send(this.#alone, this.#keys.alone, alone);
    this.#known.set(id, reply);
    return reply;
  }

  #checkCalls(seen: ReadonlyMap<string, Interval[]>, wanted: ReadonlyMap<string, ReadonlySet<string>>): void {
    for (const [id, times] of seen) {
      // This many cache keys look the same to the vendor.
      const keys = wanted.get(id)?.size ?? 0;
      if (this.#isCaching) expect([id, times.length <= keys]).toEqual([id, true]);
      else expect([id, maxConcurrent(times) <= keys]).toEqual([id, true]);
    }
  }
}

/** Check `numRuns` random plans on new installations. */
export async function checkPlans(cacheBytes: number, numRuns: number): Promise<void> {
  const comparison = await Comparison.open(cacheBytes);
  try {
    const property = fc.asyncProperty(plan, (drawn) => comparison.check(drawn));
    await fc.assert(property, { seed: SEED, numRuns, endOnFailure: true });
    await comparison.checkUsage();
  } finally {
    await comparison.close();
  }
}

interface Interval {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Make the server answer late and sometimes in another order, and record when each text was surely in progress. */
function watch(server: FakeUpstream, delays: readonly number[]): ReadonlyMap<string, Interval[]> {
  const seen = new Map<string, Interval[]>();
  let calls = 0;
  server.decide = (call: UpstreamCallSeen) => {
    const ms = delays[calls++ % delays.length] as number;
    const fromMs = performance.now();
    for (const text of call.texts) {
      const id = wireKey(call.model, call.taskType, text);
      // A timer may fire a millisecond early.
      seen.set(id, [...(seen.get(id) ?? []), { fromMs, toMs: fromMs + ms - 1 }]);
    }
    const then = { kind: calls % 2 === 0 ? 'shuffled' : 'ok' } as const;
    return ms === 0 ? then : { kind: 'delay', ms, then };
  };
  return seen;
}

function maxConcurrent(times: readonly Interval[]): number {
  return Math.max(
    0,
    ...times.map(({ fromMs }) => times.filter((each) => each.fromMs <= fromMs && fromMs < each.toMs).length),
  );
}
