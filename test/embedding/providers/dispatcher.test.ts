import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SEED } from '../../support/random.ts';
import { OVERLOADED, REJECTED, replyTo, settlePromises, start, texts } from './dispatcher-under-test.ts';
import { callOf, modelOf } from './provider-under-test.ts';

describe('Dispatcher', () => {
  it('every text gets its own vector, however calls are split and merged and in whatever order they end', async () => {
    const groupsOf = fc.array(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 25 }), {
      minLength: 1,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(
        groupsOf,
        fc.integer({ min: 1, max: 7 }),
        fc.option(fc.integer({ min: 5, max: 30 }), { nil: null }),
        fc.integer({ min: 1, max: 4 }),
        fc.infiniteStream(fc.nat(1000)),
        async (groups, itemsMax, tokensMax, concurrencyMax, picks) => {
          const { dispatcher, sent } = start({ concurrencyMax, capsOf: () => ({ itemsMax, tokensMax }) });
          let next = 0;
          const calls = groups.map((lengths) => callOf(lengths.map((length) => `${next++}`.padStart(length, 'x'))));
          const replies = Promise.all(calls.map((call) => dispatcher.embed(call)));
          for (;;) {
            await settlePromises();
            expect(dispatcher.inFlight).toBeLessThanOrEqual(concurrencyMax);
            expect(sent).toHaveLength(dispatcher.inFlight);
            const [one] = sent.splice(picks.next().value % Math.max(1, sent.length), 1);
            if (!one) break;
            const { texts: batch, counts } = one.batch;
            expect(batch.length).toBeLessThanOrEqual(itemsMax);
            const tokens = counts.reduce((sum, count) => sum + count, 0);
            if (tokensMax !== null && batch.length > 1) expect(tokens).toBeLessThanOrEqual(tokensMax);
            one.answer();
          }
          expect(await replies).toEqual(calls.map((call) => replyTo(call.texts)));
          expect(dispatcher.queuedTexts).toBe(0);
        },
      ),
      { seed: SEED, numRuns: 200 },
    );
  });

  it('every call is sent on its own while a slot is free', async () => {
    const { dispatcher, sent } = start({ concurrencyMax: 8 });
    for (let index = 0; index < 8; index++) void dispatcher.embed(callOf([`t${index}`]));
    expect(sent.map(({ batch }) => batch.texts)).toEqual(texts(8).map((text) => [text]));
  });

  it('queued calls are merged when a slot becomes free', async () => {
    const { dispatcher, sent } = start();
    const replies = texts(6).map((text) => dispatcher.embed(callOf([text])));
    expect(sent).toHaveLength(1);
    expect(dispatcher.queuedTexts).toBe(5);
    sent[0]?.answer();
    await replies[0];
    await settlePromises();
    expect(sent).toHaveLength(2);
    expect(sent[1]?.batch.texts).toEqual(texts(5, 1));
    sent[1]?.answer();
    expect(await Promise.all(replies)).toEqual(texts(6).map((text) => replyTo([text])));
  });

  it('texts of different models or task types are never merged', async () => {
    const { dispatcher, sent } = start();
    const other = modelOf({ id: 'vendor-x/model-2' });
    const replies = [
      dispatcher.embed(callOf(['t0'])),
      dispatcher.embed(callOf(['t1'])),
      dispatcher.embed(callOf(['t2'], { model: other })),
      dispatcher.embed(callOf(['t3'], { taskType: 'clustering' })),
      dispatcher.embed(callOf(['t4'])),
    ];
    for (let index = 0; index < 4; index++) {
      sent[index]?.answer();
      await settlePromises();
    }
    await Promise.all(replies);
    expect(sent.map(({ batch }) => batch.texts)).toEqual([['t0'], ['t1', 't4'], ['t2'], ['t3']]);
    expect(sent[2]?.batch.model).toBe(other);
    expect(sent[3]?.batch.taskType).toBe('clustering');
  });

  it('a text above the token cap is sent alone', () => {
    const { dispatcher, sent } = start({ concurrencyMax: 8, tokensMax: 4 });
    void dispatcher.embed(callOf(['t1', 't2', 'much-too-long', 't3']));
    expect(sent.map(({ batch }) => batch.texts)).toEqual([['t1', 't2'], ['much-too-long'], ['t3']]);
  });

  it('a small call is served between the slices of a huge one', async () => {
    const { dispatcher, sent } = start({ itemsMax: 10 });
    void dispatcher.embed(callOf(texts(1000)));
    const small = dispatcher.embed(callOf(['t5000']));
    for (let index = 0; index < 3; index++) {
      sent[index]?.answer();
      await settlePromises();
    }
    expect(await small).toEqual(replyTo(['t5000']));
    expect(sent).toHaveLength(4);
  });

  it('the queues of several models are served round-robin', async () => {
    const { dispatcher, sent } = start({ itemsMax: 10 });
    void dispatcher.embed(callOf(texts(1000)));
    void dispatcher.embed(callOf(['t5000'], { model: modelOf({ id: 'vendor-x/model-2' }) }));
    sent[0]?.answer();
    await settlePromises();
    sent[1]?.answer();
    await settlePromises();
    expect(sent.map(({ batch }) => batch.model.id)).toContain('vendor-x/model-2');
  });

  it('the slices of a rejected merged call are sent again on their own, so that only the faulty one fails', async () => {
    const { dispatcher, sent } = start();
    const first = dispatcher.embed(callOf(['t0']));
    const good = dispatcher.embed(callOf(['t1', 't2']));
    const bad = dispatcher.embed(callOf(['t3']));
    const alsoGood = dispatcher.embed(callOf(['t4']));
    sent[0]?.answer();
    await first;
    await settlePromises();
    expect(sent[1]?.batch.texts).toEqual(['t1', 't2', 't3', 't4']);
    sent[1]?.fail(REJECTED);
    await settlePromises();
    sent[2]?.answer();
    await settlePromises();
    sent[3]?.fail(REJECTED);
    await expect(bad).rejects.toBe(REJECTED);
    await settlePromises();
    sent[4]?.answer();
    expect(await good).toEqual(replyTo(['t1', 't2']));
    expect(await alsoGood).toEqual(replyTo(['t4']));
    expect(sent.slice(2).map(({ batch }) => batch.texts)).toEqual([['t1', 't2'], ['t3'], ['t4']]);
  });

  it('every call of a merged batch fails if the batch fails for another reason than a rejection', async () => {
    const { dispatcher, sent } = start();
    const first = dispatcher.embed(callOf(['t0']));
    const waiting = [dispatcher.embed(callOf(['t1'])), dispatcher.embed(callOf(['t2']))];
    sent[0]?.answer();
    await first;
    await settlePromises();
    const down = new Error('down');
    sent[1]?.fail(down);
    const outcomes = await Promise.allSettled(waiting);
    expect(outcomes).toEqual([
      { status: 'rejected', reason: down },
      { status: 'rejected', reason: down },
    ]);
    expect(sent).toHaveLength(2);
  });

  it('a call fails with its first failed slice; its other slices are aborted or leave the queue', async () => {
    const { dispatcher, sent } = start({ concurrencyMax: 2, itemsMax: 1 });
    const reply = dispatcher.embed(callOf(texts(5)));
    const down = new Error('down');
    sent[0]?.fail(down);
    await expect(reply).rejects.toBe(down);
    expect(sent[1]?.batch.signal.aborted).toBe(true);
    sent[1]?.fail(new Error('aborted'));
    await settlePromises();
    expect(sent).toHaveLength(2);
    expect(dispatcher.queuedTexts).toBe(0);
    expect(dispatcher.inFlight).toBe(0);
  });

  it('an aborted call leaves the queue', async () => {
    const { dispatcher, sent } = start();
    const controller = new AbortController();
    const first = dispatcher.embed(callOf(['t0']));
    const aborted = dispatcher.embed(callOf(['t1'], { signal: controller.signal }));
    const last = dispatcher.embed(callOf(['t2']));
    controller.abort(new Error('gone'));
    await expect(aborted).rejects.toThrow('gone');
    expect(dispatcher.queuedTexts).toBe(1);
    sent[0]?.answer();
    await first;
    await settlePromises();
    sent[1]?.answer();
    expect(await last).toEqual(replyTo(['t2']));
    expect(sent.map(({ batch }) => batch.texts)).toEqual([['t0'], ['t2']]);
  });

  it('an upstream call is aborted only when no call waits for it any more', async () => {
    const { dispatcher, sent } = start();
    const controllers = [new AbortController(), new AbortController()];
    const first = dispatcher.embed(callOf(['t0']));
    const [one, other] = controllers.map(({ signal }, index) =>
      dispatcher.embed(callOf([`t${index + 1}`], { signal })),
    );
    sent[0]?.answer();
    await first;
    await settlePromises();
    const merged = sent[1]?.batch;
    controllers[0]?.abort(new Error('gone'));
    await expect(one).rejects.toThrow('gone');
    expect(merged?.signal.aborted).toBe(false);
    controllers[1]?.abort(new Error('gone too'));
    await expect(other).rejects.toThrow('gone too');
    expect(merged?.signal.aborted).toBe(true);
  });

  it('the other calls of a merged batch are answered after one of them is aborted', async () => {
    const { dispatcher, sent } = start();
    const controller = new AbortController();
    const first = dispatcher.embed(callOf(['t0']));
    const leaver = dispatcher.embed(callOf(['t1', 't2'], { signal: controller.signal }));
    const stayer = dispatcher.embed(callOf(['t3']));
    sent[0]?.answer();
    await first;
    await settlePromises();
    controller.abort(new Error('gone'));
    sent[1]?.answer();
    await expect(leaver).rejects.toThrow('gone');
    expect(await stayer).toEqual(replyTo(['t3']));
  });

  it('a call that is aborted already is not sent', async () => {
    const { dispatcher, sent } = start();
    await expect(dispatcher.embed(callOf(['t0'], { signal: AbortSignal.abort(new Error('gone')) }))).rejects.toThrow(
      'gone',
    );
    expect(sent).toHaveLength(0);
  });

  it('a call that does not fit into the queue is refused, and accepted once there is space again', async () => {
    const { dispatcher, sent } = start({ queuedTextsMax: 4 });
    const replies = [dispatcher.embed(callOf(['t0'])), dispatcher.embed(callOf(['t1', 't2']))];
    await expect(dispatcher.embed(callOf(['t3', 't4']))).rejects.toBe(OVERLOADED);
    sent[0]?.answer();
    await settlePromises();
    replies.push(dispatcher.embed(callOf(['t3', 't4'])));
    sent[1]?.answer();
    await settlePromises();
    sent[2]?.answer();
    expect(await Promise.all(replies)).toHaveLength(3);
  });

  it('closing fails queued calls, calls in progress and later calls', async () => {
    const { dispatcher, sent } = start();
    const replies = [dispatcher.embed(callOf(['t0'])), dispatcher.embed(callOf(['t1']))];
    const closing = new Error('closing');
    dispatcher.close(closing);
    for (const reply of replies) await expect(reply).rejects.toBe(closing);
    expect(sent[0]?.batch.signal.aborted).toBe(true);
    await expect(dispatcher.embed(callOf(['t2']))).rejects.toBe(closing);
    expect(sent).toHaveLength(1);
  });

  it('background calls use only what other calls leave free, and leave one call free', async () => {
    const { dispatcher, sent } = start({ concurrencyMax: 3, itemsMax: 2 });
    const background = dispatcher.embed({ ...callOf(texts(8)), isBackground: true });
    await settlePromises();
    expect(sent).toHaveLength(2);
    const own = dispatcher.embed(callOf(texts(6, 20)));
    await settlePromises();
    expect(sent.map(({ batch }) => batch.texts[0])).toEqual(['t0', 't2', 't20']);
    // Each free call goes to the request, until nothing of it is queued.
    for (const at of [0, 1]) sent[at]?.answer();
    await settlePromises();
    expect(sent.slice(3).map(({ batch }) => batch.texts[0])).toEqual(['t22', 't24']);
    for (let at = 2; at < 7; at++) {
      sent[at]?.answer();
      await settlePromises();
    }
    expect(await own).toEqual(replyTo(texts(6, 20)));
    expect(await background).toEqual(replyTo(texts(8)));
    expect(dispatcher.queuedTexts).toBe(0);
  });

  it('a background call is sent alone by a provider with one call at a time', async () => {
    const { dispatcher, sent } = start({ concurrencyMax: 1 });
    const background = dispatcher.embed({ ...callOf(texts(1)), isBackground: true });
    await settlePromises();
    sent[0]?.answer();
    expect(await background).toEqual(replyTo(texts(1)));
  });
});
