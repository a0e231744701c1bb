import { expect, onTestFinished, test } from 'vitest';
import type { JobNotifier } from '../../src/jobs/notifier.ts';
import type { JobKind } from '../../src/jobs/schema.ts';
import { until } from '../support/until.ts';

export interface NotifiersUnderTest {
  /** Two processes. */
  readonly notifiers: readonly [JobNotifier, JobNotifier];
  /** Cut every connection, and lose what the middle remembers; then it works again. */
  disrupt(): Promise<void>;
}

/** Somebody who listens, and what came to their ears. */
async function listen(notifier: JobNotifier, kind: JobKind, hasRoom: () => boolean = () => true) {
  const heard = { bells: 0, recalls: [] as (string | null)[] };
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const listener = {
    onNotification() {
      if (hasRoom()) heard.bells++;
      return hasRoom();
    },
    onLost(jobId: string | null) {
      heard.recalls.push(jobId);
    },
  };
  await notifier.listen(kind, listener, stop.signal);
  return { heard, stop: () => stop.abort() };
}

/** What every driver of the notifier does. */
export function describeNotifier(open: () => NotifiersUnderTest): void {
  test('a bell is heard by who listens for its kind, in this process or another, and by nobody else', async () => {
    const { notifiers } = open();
    const [here, there] = notifiers;
    const bulk = await listen(here, 'bulk');
    const ingest = await listen(here, 'ingest');
    await there.notifyQueued('ingest');
    await until(async () => ingest.heard.bells > 0);
    await here.notifyQueued('bulk');
    await until(async () => bulk.heard.bells > 0);
    expect([ingest.heard, bulk.heard]).toEqual([
      { bells: 1, recalls: [] },
      { bells: 1, recalls: [] },
    ]);
  });

  test('however many bells ring at once, one is heard after the last', async () => {
    const { notifiers } = open();
    let queued = 0;
    let seen = 0;
    await listen(notifiers[0], 'ingest', () => {
      seen = queued;
      return true;
    });
    for (let round = 0; round < 5; round++) {
      const submit = async (_: unknown, i: number) => {
        queued++;
        await (notifiers[i % 2] as JobNotifier).notifyQueued('ingest');
      };
      await Promise.all(Array.from({ length: 100 }, submit));
      await until(async () => seen === queued);
    }
  });

  test('a bell reaches a worker that has room, however many have none', async () => {
    const { notifiers } = open();
    for (let i = 0; i < 3; i++) await listen(notifiers[0], 'ingest', () => false);
    const free = await listen(notifiers[1], 'ingest');
    for (let n = 1; n <= 5; n++) {
      await notifiers[0].notifyQueued('ingest');
      await until(async () => free.heard.bells >= n);
    }
  });

  test('a recall is heard by every listener of the kind, with the id of the job', async () => {
    const { notifiers } = open();
    const listeners = [await listen(notifiers[0], 'ingest'), await listen(notifiers[1], 'ingest')];
    const other = await listen(notifiers[1], 'bulk');
    await notifiers[0].notifyLost('ingest', 'job_1');
    await notifiers[1].notifyLost('bulk', 'job_2');
    await until(async () => listeners.every(({ heard }) => heard.recalls.length > 0) && other.heard.recalls.length > 0);
    expect(listeners.map(({ heard }) => heard.recalls)).toEqual([['job_1'], ['job_1']]);
    expect(other.heard.recalls).toEqual(['job_2']);
  });

  test('nothing is heard once it was told to stop', async () => {
    const { notifiers } = open();
    const leaving = await listen(notifiers[0], 'ingest');
    const staying = await listen(notifiers[1], 'ingest');
    leaving.stop();
    await notifiers[1].notifyQueued('ingest');
    await notifiers[1].notifyLost('ingest', 'job_1');
    await until(async () => staying.heard.bells > 0 && staying.heard.recalls.length > 0);
    expect(leaving.heard).toEqual({ bells: 0, recalls: [] });
  });

  test('after an outage it says that something may have been missed, and hears again', {
    timeout: 60_000,
  }, async () => {
    const { notifiers, disrupt } = open();
    const [here, there] = notifiers;
    const { heard } = await listen(here, 'ingest');
    await there.notifyQueued('ingest');
    await until(async () => heard.bells > 0);
    for (let outage = 1; outage <= 2; outage++) {
      const bellsBefore = heard.bells;
      await disrupt();
      await until(async () => heard.recalls.filter((id) => id === null).length === outage && heard.bells > bellsBefore);
      const bells = heard.bells;
      // Its own connection may need a moment more than the listener's.
      await until(async () => {
        await there.notifyQueued('ingest').catch(() => undefined);
        return heard.bells > bells;
      });
      await until(async () => {
        await there.notifyLost('ingest', `job_${outage}`).catch(() => undefined);
        return heard.recalls.includes(`job_${outage}`);
      });
    }
  });
}
