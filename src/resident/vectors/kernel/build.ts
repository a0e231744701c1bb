/**
 * Compiler of `rows.as.ts` to the two committed modules, with and without relaxed SIMD: `node
 * src/resident/vectors/kernel/build.ts`. It is a development tool (`assemblyscript` is a devDependency) that the
 * service does not import.
 */
import { compileAssembly, writeModule } from '../../../platform/compile-assembly.ts';

/** Required engine features of each committed module, by module name. */
export const BUILDS = {
  'rows-relaxed-simd.wasm': ['simd', 'relaxed-simd'],
  'rows-simd.wasm': ['simd'],
} as const;

/** Maximum memory of a module, in pages of 64 KiB: 4 GiB, the range of 32-bit addresses. */
const MEMORY_PAGES_MAX = 65_536;

/** Compile one module. @throws Error with the compiler's diagnostics */
export function compileRows(name: keyof typeof BUILDS): Promise<Uint8Array> {
  return compileAssembly(new URL('rows.as.ts', import.meta.url), [
    ...BUILDS[name].flatMap((feature) => ['--enable', feature]),
    ...['--importMemory', '--noExportMemory'],
    ...['--initialMemory', '1', '--maximumMemory', String(MEMORY_PAGES_MAX)],
  ]);
}

if (import.meta.main) {
  for (const name of Object.keys(BUILDS) as (keyof typeof BUILDS)[]) {
    await writeModule(new URL(name, import.meta.url), await compileRows(name));
  }
}
