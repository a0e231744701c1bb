import { expect, onTestFinished, test } from 'vitest';
import type { JobNotifier } from '../../src/jobs/notifier.ts';
import type { JobKind } from '../../src/jobs/schema.ts';
import { until } from '../support/until.ts';

export interface NotifiersUnderTest {
  /** Notifiers of two processes. */
  readonly notifiers: readonly [JobNotifier, JobNotifier];
  /** Cut every connection and lose the state of the server between, which then works again. */
  disrupt(): Promise<void>;
}

/** Register a listener that records its notifications. */
async function listen(notifier: JobNotifier, kind: JobKind, hasCapacity: () => boolean = () => true) {
  const received = { queued: 0, lost: [] as (string | null)[] };
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const listener = {
    onNotification() {
      if (hasCapacity()) received.queued++;
      return hasCapacity();
    },
    onLost(jobId: string | null) {
      received.lost.push(jobId);
    },
  };
  await notifier.listen(kind, listener, stop.signal);
  return { received, stop: () => stop.abort() };
}

/** Define the tests that every driver of the notifier must pass. */
export function describeNotifier(open: () => NotifiersUnderTest): void {
  test('a notification is received only by listeners of its kind, in this process or another', async () => {
    const { notifiers } = open();
    const [here, there] = notifiers;
    const bulk = await listen(here, 'bulk');
    const ingest = await listen(here, 'ingest');
    await there.notifyQueued('ingest');
    await until(async () => ingest.received.queued > 0);
    await here.notifyQueued('bulk');
    await until(async () => bulk.received.queued > 0);
    expect([ingest.received, bulk.received]).toEqual([
      { queued: 1, lost: [] },
      { queued: 1, lost: [] },
    ]);
  });

  test('after any number of concurrent notifications at least one is received after the last', async () => {
    const { notifiers } = open();
    let submitted = 0;
    let seen = 0;
    await listen(notifiers[0], 'ingest', () => {
      seen = submitted;
      return true;
    });
    for (let round = 0; round < 5; round++) {
      const submit = async (_: unknown, i: number) => {
        submitted++;
        await (notifiers[i % 2] as JobNotifier).notifyQueued('ingest');
      };
      await Promise.all(Array.from({ length: 100 }, submit));
      await until(async () => seen === submitted);
    }
  });

  test('a notification is received by a worker with capacity, however many have none', async () => {
    const { notifiers } = open();
    for (let i = 0; i < 3; i++) await listen(notifiers[0], 'ingest', () => false);
    const free = await listen(notifiers[1], 'ingest');
    for (let n = 1; n <= 5; n++) {
      await notifiers[0].notifyQueued('ingest');
      await until(async () => free.received.queued >= n);
    }
  });

  test('the loss of a job is received by every listener of its kind, with the id of the job', async () => {
    const { notifiers } = open();
    const listeners = [await listen(notifiers[0], 'ingest'), await listen(notifiers[1], 'ingest')];
    const other = await listen(notifiers[1], 'bulk');
    await notifiers[0].notifyLost('ingest', 'job_1');
    await notifiers[1].notifyLost('bulk', 'job_2');
    await until(
      async () => listeners.every(({ received }) => received.lost.length > 0) && other.received.lost.length > 0,
    );
    expect(listeners.map(({ received }) => received.lost)).toEqual([['job_1'], ['job_1']]);
    expect(other.received.lost).toEqual(['job_2']);
  });

  test('a stopped listener receives nothing', async () => {
    const { notifiers } = open();
    const stopped = await listen(notifiers[0], 'ingest');
    const active = await listen(notifiers[1], 'ingest');
    stopped.stop();
    await notifiers[1].notifyQueued('ingest');
    await notifiers[1].notifyLost('ingest', 'job_1');
    await until(async () => active.received.queued > 0 && active.received.lost.length > 0);
    expect(stopped.received).toEqual({ queued: 0, lost: [] });
  });

  test('after an outage a listener learns that notifications may be lost, and receives new ones', {
    timeout: 60_000,
  }, async () => {
    const { notifiers, disrupt } = open();
    const [here, there] = notifiers;
    const { received } = await listen(here, 'ingest');
    await there.notifyQueued('ingest');
    await until(async () => received.queued > 0);
    for (let outage = 1; outage <= 2; outage++) {
      const queuedBefore = received.queued;
      await disrupt();
      await until(
        async () => received.lost.filter((id) => id === null).length === outage && received.queued > queuedBefore,
      );
      const before = received.queued;
      // The connection of this process may need a moment longer than that of the listener.
      await until(async () => {
        await there.notifyQueued('ingest').catch(() => undefined);
        return received.queued > before;
      });
      await until(async () => {
        await there.notifyLost('ingest', `job_${outage}`).catch(() => undefined);
        return received.lost.includes(`job_${outage}`);
      });
    }
  });
}
