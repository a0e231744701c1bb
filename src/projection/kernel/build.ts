/**
 * Compiler of `kernel.as.ts` to the two committed modules, with and without relaxed SIMD: `node
 * src/projection/kernel/build.ts`. The service does not import it.
 */
import { compileAssembly, writeModule } from '../../platform/compile-assembly.ts';

/** Required engine features of each committed module, by module name. */
export const BUILDS = {
  'kernel-relaxed-simd.wasm': ['simd', 'relaxed-simd', 'threads'],
  'kernel-simd.wasm': ['simd', 'threads'],
} as const;

/** Maximum memory of a module, in pages of 64 KiB: 4 GiB, the range of 32-bit addresses. */
const MEMORY_PAGES_MAX = 65_536;

/** Compile one module. @throws Error with the compiler's diagnostics */
export function compileKernel(name: keyof typeof BUILDS): Promise<Uint8Array> {
  return compileAssembly(new URL('kernel.as.ts', import.meta.url), [
    ...BUILDS[name].flatMap((feature) => ['--enable', feature]),
    // Share the memory, so that all threads use one copy of the weights.
    ...['--importMemory', '--noExportMemory', '--sharedMemory'],
    ...['--initialMemory', '1', '--maximumMemory', String(MEMORY_PAGES_MAX)],
  ]);
}

if (import.meta.main) {
  for (const name of Object.keys(BUILDS) as (keyof typeof BUILDS)[]) {
    await writeModule(new URL(name, import.meta.url), await compileKernel(name));
  }
}
