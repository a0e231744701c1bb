import fc from 'fast-check';
import { expect } from 'vitest';
import type { TaskType } from '../../src/models/task-types.ts';
import type { Answer } from '../support/api.ts';
import type { FakeUpstream, UpstreamCallSeen } from '../support/fake-upstream.ts';
import { KOREAN, LARGE, MULTILINGUAL, openTestGateway, SMALL, type TestGateway } from '../support/gateway.ts';
import { SEED } from '../support/random.ts';

// Any mix of texts that are cached, under way, new, repeated and in several languages, sent by several clients at
// once, is answered as if each text had been sent alone to an installation that never saw another.

/** Counted exactly, so that a text costs the same in every company; a vendor tells only the sum of a call. */
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
/** Requests of one round are under way together; what an earlier round asked for is cached. */
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
interface Got {
  readonly vectors: readonly (readonly number[])[];
  readonly tokens: number;
  readonly model: string;
}

async function send(to: TestGateway, key: string, sent: Sent): Promise<Got> {
  const { model, task, dimensions, texts, isBatch } = sent;
  const common = { model, dimensions, task_type: task };
  const json = isBatch ? { texts, ...common } : { input: texts, ...common };
  const answer = await to.call('POST', isBatch ? '/v1/embed/batch' : '/v1/embeddings', { key, json });
  expect([answer.status, answer.body.error]).toEqual([200, undefined]);
  return isBatch ? readBatch(answer, sent) : readList(answer, sent);
}

function readBatch({ body }: Answer, { texts }: Sent): Got {
  expect(body.usage.count).toBe(texts.length);
  return { vectors: body.embeddings, tokens: body.usage.tokens, model: body.model };
}

function readList({ body }: Answer, { texts }: Sent): Got {
  expect(body.data.map((item: { index: number }) => item.index)).toEqual(texts.map((_, index) => index));
  const vectors = body.data.map((item: { embedding: number[] }) => item.embedding);
  return { vectors, tokens: body.usage.prompt_tokens, model: body.model };
}

/** Where two lists of numbers differ by more than `tolerance`; -1: nowhere. */
function differ(left: readonly number[], right: readonly number[], tolerance: number): number {
  if (left.length !== right.length) return Math.min(left.length, right.length);
  for (let i = 0; i < left.length; i++) {
    if (Math.abs((left[i] as number) - (right[i] as number)) > tolerance) return i;
  }
  return -1;
}

/** The vendor's vector, cut or padded, and normalised. */
function vectorFor(test: TestGateway, model: string, text: string, dimensions: number): number[] {
  const server = model === KOREAN ? test.korean : test.upstream;
  const native = server.vectorOf(WIRE_NAMES[model] as string, text.toWellFormed());
  const kept = Array.from({ length: dimensions }, (_, i) => native[i] ?? 0);
  const norm = Math.sqrt(kept.reduce((sum, x) => sum + x * x, 0));
  return kept.map((x) => x / norm);
}

/** A vendor's own word for a task; where it has none, there is one call for each task all the same. */
const JINA_TASKS: Partial<Record<TaskType, string>> = {
  retrieval_query: 'retrieval.query',
  question_answering: 'retrieval.query',
  clustering: 'separation',
};
const wireKey = (name: string, task: string | null, text: string) => JSON.stringify([name, task, text.toWellFormed()]);

/** Two installations: one that is asked by many clients at once, and one that is asked for one text at a time. */
class Comparison {
  readonly #test: TestGateway;
  readonly #alone: TestGateway;
  readonly #keys: { readonly test: string; readonly alone: string };
  readonly #isCaching: boolean;
  readonly #known = new Map<string, Promise<Got>>();
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

  /** Send the rounds of a plan one after the other, and hold every answer against that of the other installation. */
  async follow({ rounds, delays }: Plan): Promise<void> {
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
        const got = answers[index] as Got;
        await this.#check(sent, got);
        this.#sum.requests += 1;
        this.#sum.texts += sent.texts.length;
        this.#sum.tokens += got.tokens;
        const word = got.model === MULTILINGUAL && sent.task ? (JINA_TASKS[sent.task] ?? null) : null;
        for (const text of sent.texts) {
          const id = wireKey(WIRE_NAMES[got.model] as string, word, text);
          wanted.set(id, (wanted.get(id) ?? new Set()).add(JSON.stringify([sent.task, text])));
        }
      }
    }
    for (const seen of watches) this.#checkCalls(seen, wanted);
    expect([...upstream.violations, ...korean.violations]).toEqual([]);
  }

  /** That usage counts what was sent. */
  async checkUsage(): Promise<void> {
    const { body } = await this.#test.call('GET', '/v1/usage/summary', { key: this.#keys.test });
    const { embed, embed_batch: batch } = body.axes;
    expect({
      requests: embed.requests + batch.requests,
      texts: embed.texts + batch.texts,
      tokens: embed.tokens + batch.tokens,
    }).toEqual(this.#sum);
  }

  async #check(sent: Sent, got: Got): Promise<void> {
    expect(got.model).toBe(sent.model ?? got.model);
    expect(got.vectors).toHaveLength(sent.texts.length);
    const isFixed = sent.model === KOREAN;
    const standard = sent.model === undefined ? 1024 : (NATIVE[got.model] as number);
    const dimensions = isFixed ? 1024 : (sent.dimensions ?? standard);
    let tokens = 0;
    for (const [index, text] of sent.texts.entries()) {
      const vector = got.vectors[index] as number[];
      expect(differ(vector, vectorFor(this.#test, got.model, text, dimensions), 1e-6)).toBe(-1);
      const reference = await this.#askAlone(got.model, sent, text);
      if (sent.model !== undefined) expect(differ(vector, reference.vectors[0] as number[], 0)).toBe(-1);
      tokens += reference.tokens;
    }
    expect(got.tokens).toBe(tokens);
  }

  #askAlone(model: string, sent: Sent, text: string): Promise<Got> {
    const { task, dimensions } = sent;
    const id = JSON.stringify([model, task, dimensions, text]);
    const alone = { ...sent, model, texts: [text], isBatch: false };
    const asked = this.#known.get(id) ?? send(this.#alone, this.#keys.alone, alone);
    this.#known.set(id, asked);
    return asked;
  }

  #checkCalls(seen: ReadonlyMap<string, Interval[]>, wanted: ReadonlyMap<string, ReadonlySet<string>>): void {
    for (const [id, times] of seen) {
      // So many keys of ours look alike to the vendor.
      const keys = wanted.get(id)?.size ?? 0;
      if (this.#isCaching) expect([id, times.length <= keys]).toEqual([id, true]);
      else expect([id, underWayAtOnce(times) <= keys]).toEqual([id, true]);
    }
  }
}

/** Follow so many plans, on installations of their own. */
export async function followPlans(cacheBytes: number, numRuns: number): Promise<void> {
  const comparison = await Comparison.open(cacheBytes);
  try {
    const property = fc.asyncProperty(plan, (drawn) => comparison.follow(drawn));
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

/** Answers late, now and then in another order, and notes when each text was surely under way. */
function watch(server: FakeUpstream, delays: readonly number[]): ReadonlyMap<string, Interval[]> {
  const seen = new Map<string, Interval[]>();
  let calls = 0;
  server.decide = (call: UpstreamCallSeen) => {
    const ms = delays[calls++ % delays.length] as number;
    const fromMs = performance.now();
    for (const text of call.texts) {
      const id = wireKey(call.model, call.taskType, text);
      // Timers may be a millisecond early.
      seen.set(id, [...(seen.get(id) ?? []), { fromMs, toMs: fromMs + ms - 1 }]);
    }
    const then = { kind: calls % 2 === 0 ? 'shuffled' : 'ok' } as const;
    return ms === 0 ? then : { kind: 'delay', ms, then };
  };
  return seen;
}

function underWayAtOnce(times: readonly Interval[]): number {
  return Math.max(
    0,
    ...times.map(({ fromMs }) => times.filter((each) => each.fromMs <= fromMs && fromMs < each.toMs).length),
  );
}
