import { type ChildProcess, spawn } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import { type WorkFault, WorkWatch } from '../../src/platform/process-work.ts';
import { until } from '../support/until.ts';

let child: ChildProcess | null = null;
afterEach(() => {
  child?.kill('SIGKILL');
});

function start(script: string): ChildProcess {
  child = spawn(process.execPath, ['-e', script], { stdio: 'ignore' });
  return child;
}

/** Watch a process until a limit is exceeded. */
async function watch(script: string, cpuMs: number, hangMs: number): Promise<WorkFault> {
  const { pid } = start(script);
  const { promise, resolve } = Promise.withResolvers<WorkFault>();
  new WorkWatch(pid, { cpuMs, hangMs }, resolve);
  return promise;
}

const BUSY = 'for (;;);';
const IDLE = 'setInterval(() => {}, 1000)';

test('a process that works too long exceeds its processor time, however long it may take', async () => {
  expect(await watch(BUSY, 300, 60_000)).toBe('work');
});

test('a process that does nothing hangs, although it used hardly any processor time', async () => {
  expect(await watch(IDLE, 60_000, 1_500)).toBe('hang');
});

// Without /proc the wall clock is used.
test.runIf(process.platform === 'linux')('waiting is no work, and progress that is reported is no hang', async () => {
  const { pid } = start(IDLE);
  const faults: WorkFault[] = [];
  const own = new WorkWatch(pid, { cpuMs: 60_000, hangMs: 1_000 }, (fault) => faults.push(fault));
  const beganAt = performance.now();
  await until(async () => {
    own.progressed();
    return performance.now() - beganAt > 2_000;
  });
  await own.pause(until(async () => performance.now() - beganAt > 4_000));
  expect(faults).toEqual([]);
  expect(own.cpuMs).toBeLessThan(2_000);
  own.stop();
});
