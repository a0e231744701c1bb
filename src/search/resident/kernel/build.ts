/**
 * Compiler of `scan.as.ts` to the two committed modules, with and without relaxed SIMD: `node
 * src/search/resident/kernel/build.ts`. It is a development tool (`assemblyscript` is a devDependency) that the service
 * does not import.
 */
import { readFile, writeFile } from 'node:fs/promises';
import asc from 'assemblyscript/asc';

const SOURCE = 'scan.as.ts';

/** Features of the engine that each committed module needs, by name of the module. */
export const BUILDS = {
  'scan-relaxed-simd.wasm': ['simd', 'relaxed-simd'],
  'scan-simd.wasm': ['simd'],
} as const;

/** Bound of the memory of a module in pages of 64 KiB: 4 GiB, the range of 32-bit addresses. */
const MEMORY_PAGES_MAX = 65_536;

/**
 * Compile one module. @returns its bytes, which depend only on the source and the compiler version
 * @throws Error with the compiler's diagnostics
 */
export async function compileScan(name: keyof typeof BUILDS): Promise<Uint8Array> {
  const source = await readFile(new URL(SOURCE, import.meta.url), 'utf8');
  let binary: Uint8Array | undefined;
  const { error, stderr } = await asc.main(
    [
      ...[SOURCE, '--outFile', name],
      ...['--optimizeLevel', '3', '--shrinkLevel', '0', '--converge', '--noAssert'],
      ...BUILDS[name].flatMap((feature) => ['--enable', feature]),
      // No heap, hence no garbage collector and no imports except the memory.
      ...['--runtime', 'stub', '--use', 'abort=', '--importMemory', '--noExportMemory'],
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
    const binary = await compileScan(name);
    await writeFile(new URL(name, import.meta.url), binary);
    process.stdout.write(`${name}: ${binary.length} bytes\n`);
  }
}
