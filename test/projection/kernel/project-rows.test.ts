import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openThreads, type Threads } from '../../../src/platform/threads.ts';
import { loadMap, project } from '../../../src/projection/kernel/loaded-map.ts';
import { packPanels } from '../../../src/projection/kernel/pack-panels.ts';
import { projectRows } from '../../../src/projection/kernel/project-rows.ts';
import { compileFirstValid, KERNEL_BUILDS } from '../../../src/projection/kernel/wasm-kernel.ts';
import { randomValues } from './reference.ts';

const K = 512;
const D = 520;
const packed = packPanels(randomValues(K * D, 1), K, D);
const mean = randomValues(K, 2);
/** Rows of a product that is too large for inline computation: 512 * 520 * 2 operations per row. */
const native = randomValues(1003 * K, 3);

let threads: Threads;
beforeAll(() => {
  threads = openThreads();
});
afterAll(() => threads.close());

/** Create a thread pool that counts its tasks. */
function counted() {
  const calls: unknown[] = [];
  const run: Threads['run'] = (module, name, argument, options) => {
    calls.push(argument);
    return threads.run(module, name, argument, options);
  };
  return { calls, run };
}

describe.each(KERNEL_BUILDS)('rows on threads with %s', (build) => {
  const map = loadMap({ nativeDimension: K, dimensions: D, packed, mean }, { module: compileFirstValid([build]) });

  it('large products are computed in slices on threads, with the same bits', async () => {
    const counting = counted();
    const result = projectRows(counting, map, native, 515);
    expect(result).toBeInstanceOf(Promise);
    expect(await result).toEqual(project(map, native, 515));
    expect(counting.calls.length).toBeGreaterThan(2);
  });

  it('small products are computed inline', () => {
    const counting = counted();
    const few = native.subarray(0, 9 * K);
    expect(projectRows(counting, map, few, D)).toEqual(project(map, few, D));
    expect(counting.calls).toHaveLength(0);
  });

  it('concurrent products do not affect each other', async () => {
    const inputs = Array.from({ length: 6 }, (_, i) => randomValues(600 * K, 10 + i));
    const results = await Promise.all(inputs.map((input) => projectRows(threads, map, input, D)));
    for (const [i, input] of inputs.entries()) expect(results[i]).toEqual(project(map, input, D));
  });

  it('the error names the faulty row of the whole product', async () => {
    const faulty = native.slice();
    faulty[777 * K + 5] = Number.NaN;
    await expect(projectRows(threads, map, faulty, D)).rejects.toMatchObject({
      code: 'embedding_not_finite',
      details: { row: 777 },
    });
    expect(await projectRows(threads, map, native, D)).toEqual(project(map, native, D));
  });
});

it('a product stops when its signal is aborted, and the map remains usable', async () => {
  const map = loadMap({ nativeDimension: K, dimensions: D, packed, mean }, { threadsMax: 1 });
  await expect(projectRows(threads, map, native, D, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
  const controller = new AbortController();
  const stopped = projectRows(threads, map, native, D, controller.signal);
  controller.abort(new Error('left'));
  await expect(stopped).rejects.toThrow('left');
  expect(await projectRows(threads, map, native, D)).toEqual(project(map, native, D));
});

it('a working area is released when a thread fails', async () => {
  const map = loadMap({ nativeDimension: K, dimensions: D, packed, mean }, { threadsMax: 1 });
  const broken = { run: () => Promise.reject(new Error('thread ended')) };
  await expect(projectRows(broken, map, native, D)).rejects.toThrow('thread ended');
  expect(await projectRows(threads, map, native, D)).toEqual(project(map, native, D));
});
