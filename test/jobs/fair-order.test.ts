import { expect, it } from 'vitest';
import { enqueueJob } from '../../src/jobs/store.ts';
import { until } from '../support/until.ts';
import { newJob, operationsUnderTest, RESULT } from './operations-under-test.ts';

const under = operationsUnderTest();

/** Return the order in which a worker starts these jobs, one at a time. */
async function starts(count: number, work: () => Promise<unknown> = async () => {}): Promise<string[]> {
  const order: string[] = [];
  await under.withWorker(
    async (lease) => {
      order.push(lease.job.id);
      await work();
      await lease.complete(under.sql, RESULT);
    },
    async () => {
      await until(async () => order.length >= count);
    },
    { concurrency: 1 },
  );
  return order;
}

it('an enterprise job that is queued last runs before queued free ones', async () => {
  for (let i = 0; i < 40; i++) await enqueueJob(under.sql, newJob('org_a', 3));
  let urgent = '';
  const order = await starts(41, async () => {
    if (urgent === '') ({ id: urgent } = await enqueueJob(under.sql, newJob('org_b', 0)));
  });
  expect(order[1]).toBe(urgent);
});

it.each([0, 20])(
  'a job of another organization starts among the next three of 50 queued jobs after %i of them are done',
  async (done) => {
    for (let i = 0; i < 50; i++) await enqueueJob(under.sql, newJob('org_a'));
    let other = '';
    let started = 0;
    if (done === 0) ({ id: other } = await enqueueJob(under.sql, newJob('org_b')));
    const order = await starts(51, async () => {
      if (++started === done) ({ id: other } = await enqueueJob(under.sql, newJob('org_b')));
    });
    expect(order.slice(done, done + 3)).toContain(other);
  },
);

it('a worker that claims many jobs at once starts them in order of their priority', async () => {
  const ids: string[] = [];
  for (const priority of [3, 1, 2, 0, 2, 1, 3, 0])
    ids.push((await enqueueJob(under.sql, newJob('org_a', priority))).id);
  const order: string[] = [];
  await under.withWorker(
    async (lease) => {
      order.push(lease.job.id);
      await lease.complete(under.sql, RESULT);
    },
    async () => {
      await until(async () => order.length === 8);
    },
    { concurrency: 8 },
  );
  expect(order).toEqual([3, 7, 1, 5, 2, 4, 0, 6].map((place) => ids[place]));
});
