import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CachedVector } from '../../src/embedding/cache/cache-key.ts';
import { ENTRY_OVERHEAD_BYTES } from '../../src/embedding/cache/memory-cache.ts';
import type { RedisCache } from '../../src/embedding/cache/redis-cache.ts';
import { type NativeReply, openNativeVectors } from '../../src/embedding/native-vectors.ts';
import type { TaskType } from '../../src/models/task-types.ts';
import { AppError } from '../../src/platform/errors.ts';
import { SEED } from '../support/random.ts';
import { scriptedProvider, testModel, tokensOf, unavailable, vectorOf } from './scripted-provider.ts';

const VOCABULARY = ['a', 'b', 'c', 'd', 'bad', '\ud800', '\udc00', '\ufffd'];
const SCOPES: readonly { model: ReturnType<typeof testModel>; taskType: TaskType | null }[] = [
  { model: testModel('my/model'), taskType: null },
  { model: testModel('my/model'), taskType: 'clustering' },
  { model: testModel('my/other'), taskType: null },
];
const ENTRY_BYTES = 4 * 4 + ENTRY_OVERHEAD_BYTES;

const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('request' as const), scope: scope(), texts: batch() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('abandon' as const), which: fc.nat(50) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('answer' as const), which: fc.nat(50) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fail' as const), which: fc.nat(50) }) },
);
const plan = fc.record({
  cachedEntries: fc.constantFrom(0, 1, 3, 100),
  hasRedis: fc.boolean(),
  countsLater: fc.boolean(),
  steps: fc.array(step, { minLength: 1, maxLength: 40 }),
});
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

function scope() {
  return fc.constantFrom(0, 0, 0, 1, 2);
}

function batch() {
  return fc.array(fc.constantFrom(...VOCABULARY), { minLength: 1, maxLength: 6 });
}

interface Request {
  readonly scope: number;
  readonly texts: readonly string[];
  readonly leaving: AbortController;
  outcome: { reply: NativeReply } | { error: unknown } | undefined;
}

/** External call that a request waits for, until the test completes it. */
interface Pending {
  readonly scope: number;
  readonly texts: readonly string[] | null;
  answer(): void;
  fail(): void;
}

test('any mix of cached, new, repeated and shared texts gets the vectors that each text gets alone', async () => {
  await fc.assert(fc.asyncProperty(plan, follow), { seed: SEED, numRuns: 600 });
});

async function follow({ cachedEntries, hasRedis, countsLater, steps }: Plan): Promise<void> {
  const cacheBytes = cachedEntries * ENTRY_BYTES;
  const pending: Pending[] = [];
  const calls: { scope: number; texts: readonly string[]; signal: AbortSignal }[] = [];
  const requests: Request[] = [];
  const vectors = openNativeVectors({ cacheBytes, redis: hasRedis ? redisLater(pending) : null });
  const providers = SCOPES.map(({ model, taskType }, index) => {
    const { provider, calls: sent } = scriptedProvider();
    return {
      ...provider,
      embed(call: Parameters<typeof provider.embed>[0]) {
        expect(call.model).toBe(model);
        expect(call.taskType).toBe(taskType);
        expect(call.counts).toEqual(call.texts.map(tokensOf));
        const reply = provider.embed(call);
        const mine = sent.at(-1) as (typeof sent)[number];
        calls.push({ scope: index, texts: mine.texts, signal: mine.signal });
        const entry: Pending = {
          scope: index,
          texts: mine.texts,
          answer: mine.answer,
          fail: () => mine.fail(unavailable()),
        };
        pending.push(entry);
        mine.signal.addEventListener('abort', () => remove(pending, entry));
        return reply;
      },
    };
  });

  const begin = (scope: number, texts: readonly string[]) => {
    const request: Request = { scope, texts, leaving: new AbortController(), outcome: undefined };
    requests.push(request);
    vectors
      .embed({
        ...(SCOPES[scope] as (typeof SCOPES)[number]),
        provider: providers[scope] as (typeof providers)[number],
        texts,
        signal: request.leaving.signal,
        count: (counted) => (countsLater ? countLater(pending, counted, request) : counted.map(tokensOf)),
      })
      .then(
        (reply) => {
          expectCorrectReply(request, reply);
          // The caller owns the reply: no other request may see changes to it.
          reply.vectors.fill(Number.NaN);
          request.outcome = { reply };
        },
        (error: unknown) => {
          request.outcome = { error };
        },
      )
      .catch((error: unknown) => {
        request.outcome = { error };
      });
  };
  const settled = new Set<Request>();
  /** Texts for which the current step made the provider fail. */
  const failures = new Set<string>();
  const settle = (which: number, how: 'answer' | 'fail') => {
    const [one] = pending.splice(which % Math.max(1, pending.length), 1);
    if (one?.texts && how === 'fail') for (const text of one.texts) failures.add(`${one.scope} ${text}`);
    one?.[how]();
  };
  const check = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    expect(vectors.stats().memoryBytes).toBeLessThanOrEqual(cacheBytes);
    for (const request of requests) {
      if (!request.outcome || settled.has(request)) continue;
      settled.add(request);
      if ('error' in request.outcome) expectJustifiedError(request, request.outcome.error, failures);
      else expect(request.texts).not.toContain('bad');
    }
    failures.clear();
    for (const { scope, texts, signal } of calls) {
      const isWanted = requests.some((one) => one.scope === scope && !one.outcome && shares(one.texts, texts));
      if (signal.aborted) continue;
      // Every upstream call that still runs has a request that waits for it.
      const isRunning = pending.some((one) => one.texts === texts);
      if (isRunning) expect(isWanted).toBe(true);
    }
  };

  for (const one of steps) {
    if (one.kind === 'request') begin(one.scope, one.texts);
    else if (one.kind === 'abandon')
      requests[one.which % Math.max(1, requests.length)]?.leaving.abort(new Error('left'));
    else settle(one.which, one.kind);
    await check();
  }
  while (pending.length > 0) {
    settle(0, 'answer');
    await check();
  }
  expect(requests.every(({ outcome }) => outcome !== undefined)).toBe(true);
  expect(vectors.stats()).toMatchObject({ textsInFlight: 0, callsInFlight: 0 });
  // Each request makes one call, and one more for texts that another request's call failed to resolve.
  expect(calls.length).toBeLessThanOrEqual(requests.length * 2);
  const isCalm = steps.every((one) => one.kind === 'request' || one.kind === 'answer');
  const areAllGood = requests.every(({ texts }) => !texts.includes('bad'));
  if (isCalm && areAllGood && cachedEntries === 100) {
    const sent = calls.flatMap((call) => call.texts.map((text) => `${call.scope} ${text}`));
    expect(new Set(sent).size).toBe(sent.length);
  }
  await vectors.close();
}

function remove(pending: Pending[], entry: Pending): void {
  if (pending.includes(entry)) pending.splice(pending.indexOf(entry), 1);
}

function shares(some: readonly string[], others: readonly string[]): boolean {
  return some.some((text) => others.includes(text));
}

function expectCorrectReply({ scope, texts }: Request, reply: NativeReply): void {
  const { model, taskType } = SCOPES[scope] as (typeof SCOPES)[number];
  expect([...reply.vectors]).toEqual(texts.flatMap((text) => vectorOf(model, taskType, text)));
  expect(reply.tokens).toEqual(texts.map(tokensOf));
  expect(reply.hits).toBeGreaterThanOrEqual(texts.length - new Set(texts).size);
  expect(reply.hits).toBeLessThanOrEqual(texts.length);
}

/**
 * Check that a request failed only because it was aborted, because of its own text, or because the provider failed one
 * of its texts.
 */
function expectJustifiedError({ scope, texts, leaving }: Request, error: unknown, failures: ReadonlySet<string>): void {
  if (leaving.signal.aborted && error === leaving.signal.reason) return;
  const code = error instanceof AppError ? error.code : undefined;
  if (code === 'upstream_rejected') expect(texts).toContain('bad');
  else if (code === 'provider_unavailable') {
    expect(texts.some((text) => failures.has(`${scope} ${text}`))).toBe(true);
  } else throw error;
}

/** Count when the test completes the call; abort with the request, as work on another thread does. */
function countLater(pending: Pending[], texts: readonly string[], request: Request): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const entry: Pending = { scope: request.scope, texts: null, answer, fail: answer };
    function answer(): void {
      resolve(texts.map(tokensOf));
    }
    const abandon = () => {
      remove(pending, entry);
      reject(request.leaving.signal.reason);
    };
    pending.push(entry);
    if (request.leaving.signal.aborted) abandon();
    else request.leaving.signal.addEventListener('abort', abandon);
  });
}

/** Redis cache that answers when the test completes the call, or finds nothing, as after its timeout. */
function redisLater(pending: Pending[]): RedisCache {
  const kept = new Map<string, CachedVector>();
  return {
    get: (keys) =>
      new Promise((resolve) => {
        const answer = () => resolve(keys.map((key) => kept.get(key)));
        const fail = () => resolve(keys.map(() => undefined));
        pending.push({ scope: -1, texts: null, answer, fail });
      }),
    set(vectors) {
      for (const [key, { vector, tokens }] of vectors) kept.set(key, { vector: vector.slice(), tokens });
    },
    async close() {},
  };
}
