import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { BUILDS, compileKernel } from '../../../src/projection/kernel/build.ts';
import { compileFirstValid, KERNEL_BUILDS, kernelModule } from '../../../src/projection/kernel/wasm-kernel.ts';

describe.each(KERNEL_BUILDS)('%s', (build) => {
  it('the committed module equals the compiled source', async () => {
    const committed = await readFile(new URL(`../../../src/projection/kernel/${build}`, import.meta.url));
    expect(Buffer.from(await compileKernel(build)).equals(committed)).toBe(true);
  });

  it('the module is accepted by this engine', () => {
    expect(() => compileFirstValid([build])).not.toThrow();
  });
});

it('only one build needs relaxed SIMD', () => {
  expect(Object.keys(BUILDS)).toEqual([...KERNEL_BUILDS]);
  expect(BUILDS['kernel-simd.wasm']).not.toContain('relaxed-simd');
});

it('the kernel is compiled once per thread', () => {
  expect(kernelModule()).toBe(kernelModule());
});

it('the error of an engine that runs no build names the missing feature', () => {
  expect(() => compileFirstValid([])).toThrow(/SIMD/);
});
