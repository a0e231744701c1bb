import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { withFileLock } from '../../src/platform/embedded-postgres/file-lock.ts';
import { clusterUnderTest, exitOf, startChild } from '../support/embedded-cluster.ts';
import { createTestRandom } from '../support/random.ts';

const cluster = clusterUnderTest();

test('a file lock lets one process in at a time while holders are killed', { timeout: 240_000 }, async () => {
  const [lock, journal] = [path.join(cluster.root, 'a.lock'), path.join(cluster.root, 'journal')];
  await writeFile(journal, '');
  const random = createTestRandom('file lock');
  const start = (rounds: number) => startChild('file-lock-child.ts', lock, journal, rounds, random.int(2 ** 31));
  const lasting = Array.from({ length: 6 }, () => start(60));
  for (let killed = 0; killed < 12; killed++) {
    const doomed = start(100_000);
    // It is killed in the critical section, at an arbitrary line.
    const isInside = async () => (await readFile(journal, 'utf8')).includes(`enter ${doomed.child.pid}\n`);
    await expect.poll(isInside, { interval: 1, timeout: 60_000 }).toBe(true);
    doomed.child.kill('SIGKILL');
    await exitOf(doomed);
  }
  expect(await Promise.all(lasting.map(exitOf))).toEqual(Array(6).fill('ok'));
  const left = (await readFile(journal, 'utf8')).split('\n').filter((line) => line.startsWith('leave'));
  expect(left.length).toBeGreaterThanOrEqual(6 * 60);
  await withFileLock(lock, async () => undefined); // the last one killed may have left it
  expect(existsSync(lock)).toBe(false);
});
