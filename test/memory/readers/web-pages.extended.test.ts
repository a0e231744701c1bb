import { fork } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { openTestAppliance } from '../../support/appliance.ts';
import { addSource, countIngestJobs, sync, syncWorker } from '../../support/memory.ts';

const NONE = { added: 0, changed: 0, removed: 0, renamed: 0, unchanged: 0, failed: 0 };
const PAGES = 10_000;

it('10,000 pages of a website are read once, and the next synchronisation is one conditional request a page', async () => {
  const site = fork(new URL('../../support/large-site-child.ts', import.meta.url), [String(PAGES)]);
  onTestFinished(() => void site.kill());
  const [{ port }] = (await once(site, 'message')) as [{ port: number }];
  const connection = { type: 'web', sites: [`http://127.0.0.1:${port}/`], networks: ['127.0.0.1'] };
  const test = await openTestAppliance({ sources: { site: { ...connection, requests_per_second: 10_000 } } });
  const worker = syncWorker(test);
  await worker.start();
  onTestFinished(async () => {
    await worker.stop();
    await test.close();
  });
  const { id } = await addSource(test, { name: 'site', connection: 'site', config: { depth: 20 } });
  const began = performance.now();
  expect((await sync(test, id)).counts).toEqual({ ...NONE, added: PAGES });
  const first = performance.now();
  expect((await sync(test, id)).counts).toEqual({ ...NONE, unchanged: PAGES });
  const second = performance.now();
  expect(await countIngestJobs(test.appliance.sql)).toBe(PAGES);
  const seconds = (from: number, to: number) => ((to - from) / 1_000).toFixed(1);
  process.stdout.write(
    `${PAGES} pages: first synchronisation ${seconds(began, first)} s, second ${seconds(first, second)} s\n`,
  );
});
