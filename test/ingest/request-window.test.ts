import { expect, it } from 'vitest';
import { RequestWindow } from '../../src/ingest/reindex/request-window.ts';

/** Sends requests through a window with a clock of its own, and counts those that are at work. */
class Requests {
  nowMs = 0;
  readonly window = new RequestWindow(() => this.nowMs);
  readonly #open: { resolve: () => void; reject: (error: Error) => void }[] = [];
  readonly settled: Promise<unknown>[] = [];

  get atWork(): number {
    return this.#open.length;
  }

  add(count: number): void {
    for (let n = 0; n < count; n++) {
      const sent = this.window.run(() => new Promise<void>((resolve, reject) => this.#open.push({ resolve, reject })));
      this.settled.push(sent.catch((error: Error) => error.message));
    }
  }

  /** End all requests at work after some time; the next ones have begun when this resolves. */
  async end(afterMs: number, error?: Error): Promise<void> {
    this.nowMs += afterMs;
    for (const { resolve, reject } of this.#open.splice(0)) error ? reject(error) : resolve();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

it('requests to a fast model are more and more at a time, up to a bound', async () => {
  const requests = new Requests();
  requests.add(200);
  const seen = [requests.atWork];
  for (let round = 0; round < 4; round++) {
    await requests.end(250);
    seen.push(requests.atWork);
  }
  expect(seen).toEqual([8, 16, 24, 24, 24]);
});

it('requests to a slow model become few at a time, and all of them are sent', async () => {
  const requests = new Requests();
  requests.add(12);
  const seen = [requests.atWork];
  for (let round = 0; round < 6; round++) {
    await requests.end(20_000);
    seen.push(requests.atWork);
  }
  expect(seen).toEqual([8, 1, 1, 1, 1, 0, 0]);
  expect(await Promise.all(requests.settled)).toHaveLength(12);
});

it('a failed request makes room for the next one', async () => {
  const requests = new Requests();
  requests.add(9);
  await requests.end(3_000, new Error('refused'));
  expect(requests.atWork).toBe(1);
  await requests.end(3_000);
  const results = await Promise.all(requests.settled);
  expect(results.filter((message) => message === 'refused')).toHaveLength(8);
});
