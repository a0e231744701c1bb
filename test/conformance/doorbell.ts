import { expect, onTestFinished, test } from 'vitest';
import type { Doorbell } from '../../src/jobs/doorbell.ts';
import type { JobKind } from '../../src/jobs/schema.ts';
import { until } from '../support/until.ts';

export interface DoorbellsUnderTest {
  /** Two processes. */
  readonly doorbells: readonly [Doorbell, Doorbell];
  /** Cut every connection, and lose what the middle remembers; then it works again. */
  disrupt(): Promise<void>;
}

/** Somebody who listens, and what came to their ears. */
async function listen(doorbell: Doorbell, kind: JobKind, hasRoom: () => boolean = () => true) {
  const heard = { bells: 0, recalls: [] as (string | null)[] };
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const listener = {
    onBell() {
      if (hasRoom()) heard.bells++;
      return hasRoom();
    },
    onRecall(jobId: string | null) {
      heard.recalls.push(jobId);
    },
  };
  await doorbell.listen(kind, listener, stop.signal);
  return { heard, stop: () => stop.abort() };
}

/** What every driver of the doorbell does. */
export function describeDoorbell(open: () => DoorbellsUnderTest): void {
  test('a bell is heard by who listens for its kind, in this process or another, and by nobody else', async () => {
    const { doorbells } = open();
    const [here, there] = doorbells;
    const bulk = await listen(here, 'bulk');
    const ingest = await listen(here, 'ingest');
    await there.ring('ingest');
    await until(async () => ingest.heard.bells > 0);
    await here.ring('bulk');
    await until(async () => bulk.heard.bells > 0);
    expect([ingest.heard, bulk.heard]).toEqual([
      { bells: 1, recalls: [] },
      { bells: 1, recalls: [] },
    ]);
  });

  test('however many bells ring at once, one is heard after the last', async () => {
    const { doorbells } = open();
    let queued = 0;
    let seen = 0;
    await listen(doorbells[0], 'ingest', () => {
      seen = queued;
      return true;
    });
    for (let round = 0; round < 5; round++) {
      const submit = async (_: unknown, i: number) => {
        queued++;
        await (doorbells[i % 2] as Doorbell).ring('ingest');
      };
      await Promise.all(Array.from({ length: 100 }, submit));
      await until(async () => seen === queued);
    }
  });

  test('a bell reaches a worker that has room, however many have none', async () => {
    const { doorbells } = open();
    for (let i = 0; i < 3; i++) await listen(doorbells[0], 'ingest', () => false);
    const free = await listen(doorbells[1], 'ingest');
    for (let n = 1; n <= 5; n++) {
      await doorbells[0].ring('ingest');
      await until(async () => free.heard.bells >= n);
    }
  });

  test('a recall is heard by every listener of the kind, with the id of the job', async () => {
    const { doorbells } = open();
    const listeners = [await listen(doorbells[0], 'ingest'), await listen(doorbells[1], 'ingest')];
    const other = await listen(doorbells[1], 'bulk');
    await doorbells[0].recall('ingest', 'job_1');
    await doorbells[1].recall('bulk', 'job_2');
    await until(async () => listeners.every(({ heard }) => heard.recalls.length > 0) && other.heard.recalls.length > 0);
    expect(listeners.map(({ heard }) => heard.recalls)).toEqual([['job_1'], ['job_1']]);
    expect(other.heard.recalls).toEqual(['job_2']);
  });

  test('nothing is heard once it was told to stop', async () => {
    const { doorbells } = open();
    const leaving = await listen(doorbells[0], 'ingest');
    const staying = await listen(doorbells[1], 'ingest');
    leaving.stop();
    await doorbells[1].ring('ingest');
    await doorbells[1].recall('ingest', 'job_1');
    await until(async () => staying.heard.bells > 0 && staying.heard.recalls.length > 0);
    expect(leaving.heard).toEqual({ bells: 0, recalls: [] });
  });

  test('after an outage it says that something may have been missed, and hears again', {
    timeout: 60_000,
  }, async () => {
    const { doorbells, disrupt } = open();
    const [here, there] = doorbells;
    const { heard } = await listen(here, 'ingest');
    await there.ring('ingest');
    await until(async () => heard.bells > 0);
    for (let outage = 1; outage <= 2; outage++) {
      const bellsBefore = heard.bells;
      await disrupt();
      await until(async () => heard.recalls.filter((id) => id === null).length === outage && heard.bells > bellsBefore);
      const bells = heard.bells;
      // Its own connection may need a moment more than the listener's.
      await until(async () => {
        await there.ring('ingest').catch(() => undefined);
        return heard.bells > bells;
      });
      await until(async () => {
        await there.recall('ingest', `job_${outage}`).catch(() => undefined);
        return heard.recalls.includes(`job_${outage}`);
      });
    }
  });
}
