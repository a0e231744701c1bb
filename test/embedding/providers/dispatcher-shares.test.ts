import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Dispatcher } from '../../../src/embedding/providers/dispatcher.ts';
import type { ProviderCall, ProviderReply } from '../../../src/embedding/providers/provider.ts';
import { runFor } from '../../../src/platform/work-context.ts';
import { SEED } from '../../support/random.ts';
import { OVERLOADED, REJECTED, replyTo, type SentCall, settlePromises, start, texts } from './dispatcher-under-test.ts';
import { callOf, modelOf } from './provider-under-test.ts';

/** Embed as a part of a request of an organization; null: of none. */
function embedAs(dispatcher: Dispatcher, orgId: string | null, call: ProviderCall): Promise<ProviderReply> {
  return runFor({ requestId: null, jobId: null, orgId, span: null }, () => dispatcher.embed(call));
}

/** Answer the calls one after the other, from the one at `from` on, until all are answered. */
async function answerAll(sent: readonly SentCall[], from = 0): Promise<void> {
  for (let at = from; at < sent.length; at++) {
    sent[at]?.answer();
    await settlePromises();
  }
}

const textsOf = (sent: readonly SentCall[]) => sent.map(({ batch }) => batch.texts);

describe('turns of organizations', () => {
  it('a request of another organization is sent after one call of those that wait already', async () => {
    const { dispatcher, sent } = start({ itemsMax: 10 });
    const many = Array.from({ length: 20 }, (_, at) => embedAs(dispatcher, 'one', callOf(texts(10, at * 10))));
    const other = embedAs(dispatcher, 'other', callOf(['t5000']));
    await answerAll(sent);
    expect(textsOf(sent)[2]?.[0]).toBe('t5000');
    expect(await other).toEqual(replyTo(['t5000']));
    expect(await Promise.all(many)).toHaveLength(20);
    expect(sent).toHaveLength(21);
  });

  it('requests of no organization wait in turn with those of organizations', async () => {
    const { dispatcher, sent } = start({ itemsMax: 1 });
    for (const text of ['t0', 't1', 't2', 't3']) void embedAs(dispatcher, null, callOf([text]));
    void dispatcher.embed(callOf(['t4']));
    void embedAs(dispatcher, 'one', callOf(['t10']));
    await answerAll(sent);
    expect(textsOf(sent).flat()).toEqual(['t0', 't1', 't10', 't2', 't3', 't4']);
  });

  it('an organization has one turn, with however many models and task types it asks', async () => {
    const { dispatcher, sent } = start();
    void embedAs(dispatcher, 'one', callOf(['t0']));
    for (let index = 1; index < 6; index++) {
      void embedAs(dispatcher, 'one', callOf([`t${index}`], { model: modelOf({ id: `vendor-x/model-${index}` }) }));
    }
    void embedAs(dispatcher, 'other', callOf(['t10'], { taskType: 'clustering' }));
    await answerAll(sent);
    expect(textsOf(sent)).toEqual([['t0'], ['t1'], ['t10'], ['t2'], ['t3'], ['t4'], ['t5']]);
  });

  it('requests of one organization are sent in the order of their arrival', async () => {
    const { dispatcher, sent } = start({ itemsMax: 2 });
    for (let index = 0; index < 6; index++) {
      void embedAs(dispatcher, 'one', callOf([`t${index}`]));
      void embedAs(dispatcher, 'other', callOf([`t${100 + index}`]));
    }
    await answerAll(sent);
    const order = textsOf(sent).flat();
    expect(order.filter((text) => text.length === 2)).toEqual(texts(6));
    expect(order.filter((text) => text.length === 4)).toEqual(texts(6, 100));
  });

  it('what the organization in turn leaves free of a call is filled with texts of the others', async () => {
    const { dispatcher, sent } = start({ itemsMax: 4 });
    const replies = [
      embedAs(dispatcher, 'one', callOf(['t0'])),
      embedAs(dispatcher, 'one', callOf(['t1', 't2'])),
      embedAs(dispatcher, 'other', callOf(['t10'])),
      embedAs(dispatcher, 'third', callOf(texts(4, 20))),
      embedAs(dispatcher, 'other', callOf(['t11'], { taskType: 'clustering' })),
    ];
    await answerAll(sent);
    expect(textsOf(sent)).toEqual([['t0'], ['t1', 't2', 't10', 't20'], ['t11'], ['t21', 't22', 't23']]);
    expect(await Promise.all(replies)).toEqual(
      [['t0'], ['t1', 't2'], ['t10'], texts(4, 20), ['t11']].map((each) => replyTo(each)),
    );
    expect(dispatcher.queuedTexts).toBe(0);
  });

  it('a call that carries texts of several organizations keeps to the token cap', async () => {
    const { dispatcher, sent } = start({ tokensMax: 6 });
    for (const [orgId, text] of [
      ['one', 't0'],
      ['one', 't1'],
      ['other', 't22'],
      ['third', 't3'],
    ] as const) {
      void embedAs(dispatcher, orgId, callOf([text]));
    }
    await answerAll(sent);
    expect(textsOf(sent)).toEqual([['t0'], ['t1', 't22'], ['t3']]);
  });

  it('a call of several organizations that is rejected is sent again for each request', async () => {
    const { dispatcher, sent } = start();
    void embedAs(dispatcher, 'one', callOf(['t0']));
    const bad = embedAs(dispatcher, 'one', callOf(['t1']));
    const good = embedAs(dispatcher, 'other', callOf(['t2']));
    sent[0]?.answer();
    await settlePromises();
    sent[1]?.fail(REJECTED);
    await settlePromises();
    sent[2]?.answer();
    expect(await good).toEqual(replyTo(['t2']));
    await settlePromises();
    sent[3]?.fail(REJECTED);
    await expect(bad).rejects.toBe(REJECTED);
    expect(textsOf(sent)).toEqual([['t0'], ['t1', 't2'], ['t2'], ['t1']]);
  });

  it('background texts of one organization wait until no other organization has any other texts', async () => {
    const { dispatcher, sent } = start({ itemsMax: 1 });
    void embedAs(dispatcher, 'one', callOf(['t0']));
    void embedAs(dispatcher, 'one', { ...callOf(['t1']), isBackground: true });
    void embedAs(dispatcher, 'other', { ...callOf(['t2']), isBackground: true });
    void embedAs(dispatcher, 'other', callOf(['t3', 't4']));
    await answerAll(sent);
    expect(textsOf(sent).flat()).toEqual(['t0', 't3', 't4', 't1', 't2']);
  });

  it('while an organization waits, each other one begins one call at most before its next', async () => {
    const requests = fc.array(
      fc.record({
        org: fc.nat(3),
        model: fc.nat(1),
        count: fc.integer({ min: 1, max: 12 }),
        isAborted: fc.boolean(),
      }),
      { minLength: 1, maxLength: 30 },
    );
    await fc.assert(
      fc.asyncProperty(requests, fc.integer({ min: 1, max: 5 }), async (plan, itemsMax) => {
        const { dispatcher, sent } = start({ itemsMax });
        const ownerOf = (batch: ProviderCall, at = 0) => Number(batch.texts[at]?.replace(/\D/g, '')) % 10;
        const waiting = [0, 0, 0, 0];
        const settled = plan.map(({ org, model, count, isAborted }, at) => {
          // The last digit of a text is its organization.
          const own = Array.from({ length: count }, (_, index) => `t${(at * 100 + index) * 10 + org}`);
          const abort = new AbortController();
          const call = callOf(own, { model: modelOf({ id: `m${model}` }), signal: abort.signal });
          const reply = embedAs(dispatcher, `org-${org}`, call).catch(() => null);
          // What the first request sends at once was not queued.
          const queued = at === 0 ? Math.max(0, count - itemsMax) : count;
          if (isAborted && at > 0) abort.abort(new Error('gone'));
          else waiting[org] = (waiting[org] as number) + queued;
          return { reply, expected: isAborted && at > 0 ? null : replyTo(own) };
        });
        const sum = () => waiting.reduce((total, count) => total + count, 0);
        expect(dispatcher.queuedTexts).toBe(sum());
        const begun = waiting.map(() => [0, 0, 0, 0]);
        for (let at = 0; at < sent.length; at++) {
          sent[at]?.answer();
          await settlePromises();
          const next = sent[at + 1]?.batch;
          if (!next) break;
          for (const [org, others] of begun.entries()) {
            if (waiting[org] === 0) continue;
            const leader = ownerOf(next);
            others[leader] = (others[leader] as number) + 1;
            if (leader === org) others.fill(0);
            expect(Math.max(...others)).toBeLessThanOrEqual(1);
          }
          for (const index of next.texts.keys()) {
            const org = ownerOf(next, index);
            waiting[org] = (waiting[org] as number) - 1;
          }
          expect(dispatcher.queuedTexts).toBe(sum());
        }
        for (const { reply, expected } of settled) expect(await reply).toEqual(expected);
        expect([dispatcher.queuedTexts, dispatcher.inFlight]).toEqual([0, 0]);
      }),
      { seed: SEED, numRuns: 200 },
    );
  });
});

describe('shares of organizations in the queue', () => {
  it('an organization fills half of the queue at most, and others fill what is left', async () => {
    const { dispatcher, sent } = start({ queuedTextsMax: 100 });
    const first = embedAs(dispatcher, 'one', callOf(['t0']));
    const half = embedAs(dispatcher, 'one', callOf(texts(50, 1)));
    await expect(embedAs(dispatcher, 'one', callOf(['t51']))).rejects.toBe(OVERLOADED);
    const other = embedAs(dispatcher, 'other', callOf(texts(25, 100)));
    await expect(embedAs(dispatcher, 'other', callOf(['t125']))).rejects.toBe(OVERLOADED);
    const third = embedAs(dispatcher, null, callOf(texts(12, 200)));
    expect(dispatcher.queuedTexts).toBe(87);
    await answerAll(sent);
    expect(await Promise.all([first, half, other, third])).toEqual(
      [['t0'], texts(50, 1), texts(25, 100), texts(12, 200)].map((each) => replyTo(each)),
    );
  });

  it('however many organizations fill the queue, one more can queue a text', async () => {
    const { dispatcher } = start({ queuedTextsMax: 1_000 });
    void embedAs(dispatcher, 'one', callOf(['t0']));
    for (let org = 0; org < 8; org++) {
      for (let isRefused = false; !isRefused; ) {
        const reply = embedAs(dispatcher, `org-${org}`, callOf(['t1']));
        isRefused = await Promise.race([reply.catch(() => true), settlePromises().then(() => false)]).then(Boolean);
      }
    }
    const queued = dispatcher.queuedTexts;
    void embedAs(dispatcher, 'late', callOf(['t2']));
    expect(dispatcher.queuedTexts).toBe(queued + 1);
  });

  it('background texts count in the share of their organization', async () => {
    const { dispatcher } = start({ queuedTextsMax: 10 });
    void embedAs(dispatcher, 'one', callOf(['t0']));
    void embedAs(dispatcher, 'one', { ...callOf(texts(5, 1)), isBackground: true });
    await expect(embedAs(dispatcher, 'one', callOf(['t6']))).rejects.toBe(OVERLOADED);
    void embedAs(dispatcher, 'other', callOf(['t7']));
    expect(dispatcher.queuedTexts).toBe(6);
  });

  it('an aborted request gives its share back, and its texts are not sent', async () => {
    const { dispatcher, sent } = start({ queuedTextsMax: 10 });
    const abort = new AbortController();
    void embedAs(dispatcher, 'one', callOf(['t0']));
    const aborted = embedAs(dispatcher, 'one', callOf(texts(4, 1), { signal: abort.signal }));
    const other = embedAs(dispatcher, 'other', callOf(['t10']));
    await expect(embedAs(dispatcher, 'one', callOf(['t5']))).rejects.toBe(OVERLOADED);
    abort.abort(new Error('gone'));
    await expect(aborted).rejects.toThrow('gone');
    expect(dispatcher.queuedTexts).toBe(1);
    const last = embedAs(dispatcher, 'one', callOf(texts(4, 20)));
    await answerAll(sent);
    expect(await Promise.all([other, last])).toEqual([replyTo(['t10']), replyTo(texts(4, 20))]);
    expect(textsOf(sent).flat()).not.toContain('t1');
    expect(dispatcher.queuedTexts).toBe(0);
  });
});
