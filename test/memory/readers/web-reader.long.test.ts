import { fork } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { openSite } from '../../support/crawl-site.ts';
import { checkReader } from './conformance.ts';
import { openWebPlace } from './places/web-place.ts';

checkReader('websites', openWebPlace);

it('thousands of linked pages are read once, and asked for on condition later', async () => {
  const PAGES = 5_000;
  const site = fork(new URL('../../support/large-site-child.ts', import.meta.url), [String(PAGES)]);
  onTestFinished(() => void site.kill());
  const [{ port }] = (await once(site, 'message')) as [{ port: number }];
  const source = await openSite([`http://127.0.0.1:${port}/`], { depth: 20 });
  const first = await source.crawl();
  expect(first).toMatchObject({ faults: [] });
  expect(first.read.size).toBe(PAGES);
  const second = await source.crawl();
  expect(second).toMatchObject({ keys: first.keys, faults: [] });
  expect(second.read.size).toBe(0);
});
