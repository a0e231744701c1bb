import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { BUILDS, compileKernel } from '../../../src/projection/kernel/build.ts';
import { compileFirstValid, KERNEL_BUILDS, kernelModule } from '../../../src/projection/kernel/wasm-kernel.ts';

describe.each(KERNEL_BUILDS)('%s', (build) => {
  it('is what the source compiles to', async () => {
    const committed = await readFile(new URL(`../../../src/projection/kernel/${build}`, import.meta.url));
    expect(Buffer.from(await compileKernel(build)).equals(committed)).toBe(true);
  });

  it('is accepted by this engine', () => {
    expect(() => compileFirstValid([build])).not.toThrow();
  });
});

it('needs relaxed SIMD in one build only', () => {
  expect(Object.keys(BUILDS)).toEqual([...KERNEL_BUILDS]);
  expect(BUILDS['kernel-simd.wasm']).not.toContain('relaxed-simd');
});

it('compiles once a thread', () => {
  expect(kernelModule()).toBe(kernelModule());
});

it('says what an engine without any of the builds lacks', () => {
  expect(() => compileFirstValid([])).toThrow(/SIMD/);
});
