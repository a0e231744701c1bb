/**
 * Script that compiles `print-floats.as.ts` to `print-floats.wasm`, which is committed: `node src/printing/build.ts`.
 * It is a development tool (`assemblyscript` is a devDependency); the service does not import it.
 */
import { readFile, writeFile } from 'node:fs/promises';
import asc from 'assemblyscript/asc';

const SOURCE = 'print-floats.as.ts';
const BINARY = 'print-floats.wasm';

/** Number of 64 KiB pages, for the table, a block of floats and its text. The memory never grows. */
const MEMORY_PAGES = 2;

/**
 * @returns the bytes of the module, which depend only on the source and the compiler version
 * @throws Error with the compiler's diagnostics
 */
export async function compilePrintFloats(): Promise<Uint8Array> {
  const source = await readFile(new URL(SOURCE, import.meta.url), 'utf8');
  let binary: Uint8Array | undefined;
  const { error, stderr } = await asc.main(
    [
      ...[SOURCE, '--outFile', BINARY],
      ...['--optimizeLevel', '3', '--shrinkLevel', '0', '--converge', '--noAssert'],
      // The module has no heap, hence no garbage collector and no imports.
      ...['--runtime', 'stub', '--use', 'abort='],
      ...['--initialMemory', String(MEMORY_PAGES), '--maximumMemory', String(MEMORY_PAGES)],
    ],
    {
      readFile: (name) => (name === SOURCE ? source : null),
      writeFile: (name, contents) => {
        if (name === BINARY && typeof contents !== 'string') binary = contents;
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
  const binary = await compilePrintFloats();
  await writeFile(new URL(BINARY, import.meta.url), binary);
  process.stdout.write(`${BINARY}: ${binary.length} bytes\n`);
}
