/**
 * Script that compiles `print-floats.as.ts` to `print-floats.wasm`, which is committed: `node src/printing/build.ts`.
 * The service does not import it.
 */
import { compileAssembly, writeModule } from '../platform/compile-assembly.ts';

/** Number of 64 KiB pages, for the table, a block of floats and its text. The memory never grows. */
const MEMORY_PAGES = 2;

/** Compile the module. @throws Error with the compiler's diagnostics */
export function compilePrintFloats(): Promise<Uint8Array> {
  return compileAssembly(new URL('print-floats.as.ts', import.meta.url), [
    ...['--initialMemory', String(MEMORY_PAGES), '--maximumMemory', String(MEMORY_PAGES)],
  ]);
}

if (import.meta.main) await writeModule(new URL('print-floats.wasm', import.meta.url), await compilePrintFloats());
