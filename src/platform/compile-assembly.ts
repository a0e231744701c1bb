import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import asc from 'assemblyscript/asc';

/** Name of a module in the same folder as the compiled one. */
const MODULE_NAME = /^[\w-]+\.as\.ts$/u;

/**
 * Compile AssemblyScript without a heap and garbage collector. This is a development tool (`assemblyscript` is a
 * devDependency) that the service does not load.
 * @param source file whose name ends with `.as.ts`; it may import others of its folder
 * @param options compiler options: features and memory
 * @returns bytes of the module, which depend only on the source, the options and the compiler version
 * @throws Error with the compiler's diagnostics
 */
export async function compileAssembly(source: URL, options: readonly string[]): Promise<Uint8Array> {
  const name = path.basename(source.pathname);
  let binary: Uint8Array | undefined;
  const { error, stderr } = await asc.main(
    [
      ...[name, '--outFile', 'module.wasm'],
      ...['--optimizeLevel', '3', '--shrinkLevel', '0', '--converge', '--noAssert'],
      ...['--runtime', 'stub', '--use', 'abort=', ...options],
    ],
    {
      // The compiler also asks for files that may be missing, such as its own settings.
      readFile: (file) => (MODULE_NAME.test(file) ? readFile(new URL(file, source), 'utf8').catch(() => null) : null),
      writeFile: (_file, contents) => {
        if (typeof contents !== 'string') binary = contents;
      },
      listFiles: () => [],
    },
  );
  if (error !== null || binary === undefined) {
    throw new Error(`${name} does not compile:\n${stderr.toString()}`, { cause: error });
  }
  return binary;
}

/** Write a compiled module to its file, and print its size. */
export async function writeModule(target: URL, binary: Uint8Array): Promise<void> {
  await writeFile(target, binary);
  process.stdout.write(`${path.basename(target.pathname)}: ${binary.length} bytes\n`);
}
