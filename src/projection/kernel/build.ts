/**
 * Compiles `kernel.as.ts` twice, with and without relaxed SIMD, to the modules that are committed beside it:
 * `node src/projection/kernel/build.ts`. A development tool (`assemblyscript` is a devDependency); nothing that
 * serves imports it.
 */
import { readFile, writeFile } from 'node:fs/promises';
import asc from 'assemblyscript/asc';

const SOURCE = 'kernel.as.ts';

/** Name of the committed module -> features of the engine that it needs. */
export const BUILDS = {
  'kernel-relaxed-simd.wasm': ['simd', 'relaxed-simd', 'threads'],
  'kernel-simd.wasm': ['simd', 'threads'],
} as const;

/** A module accepts a memory of so many 64 KiB pages at most: 4 GiB, all that 32-bit addresses reach. */
const MEMORY_PAGES_MAX = 65_536;

/**
 * @returns the bytes of the module: the same for the same source and compiler version
 * @throws Error with the compiler's diagnostics
 */
export async function compileKernel(name: keyof typeof BUILDS): Promise<Uint8Array> {
  const source = await readFile(new URL(SOURCE, import.meta.url), 'utf8');
  let binary: Uint8Array | undefined;
  const { error, stderr } = await asc.main(
    [
      ...[SOURCE, '--outFile', name],
      ...['--optimizeLevel', '3', '--shrinkLevel', '0', '--converge', '--noAssert'],
      ...BUILDS[name].flatMap((feature) => ['--enable', feature]),
      // No heap, hence no garbage collector and nothing to import but the memory.
      ...['--runtime', 'stub', '--use', 'abort='],
      // Shared, so that all threads multiply with one copy of the weights.
      ...['--importMemory', '--noExportMemory', '--sharedMemory'],
      ...['--initialMemory', '1', '--maximumMemory', String(MEMORY_PAGES_MAX)],
    ],
    {
      readFile: (file) => (file === SOURCE ? source : null),
      writeFile: (file, contents) => {
        if (file === name && typeof contents !== 'string') binary = contents;
      },
      listFiles: () => [],
    },
  );
  if (error !== null || binary === undefined) {
    throw new Error(`${SOURCE} does not compile:\n${stderr.toString()}`, { cause: error });
  }
  return binary;
}

if (import.meta.main) {
  for (const name of Object.keys(BUILDS) as (keyof typeof BUILDS)[]) {
    const binary = await compileKernel(name);
    await writeFile(new URL(name, import.meta.url), binary);
    process.stdout.write(`${name}: ${binary.length} bytes\n`);
  }
}
