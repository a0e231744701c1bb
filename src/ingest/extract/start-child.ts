import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type ConfinedProcess, startConfined } from '../../platform/confined-process.ts';
import { strippedSources } from '../../platform/stripped-sources.ts';
import type { ChildArgument, ChildFormat } from './child-protocol.ts';
import { ExtractError } from './errors.ts';
import type { ExtractLimits } from './limits.ts';

export type Child = ConfinedProcess;
export type ChildLimits = Pick<ExtractLimits, 'deadlineMs' | 'memoryBytesMax'>;

const HERE = dirname(fileURLToPath(import.meta.url));
const MIB = 1024 * 1024;
/** Processor time for the pictures of a scanned book, in addition to its text. */
const IMAGES_CPU_SECONDS = 600;
/** Part of the memory limit reserved outside the JavaScript heap: the program itself and array buffers. */
const OFF_HEAP_BYTES = 128 * MIB;

/**
 * Start a process that waits for a task on stdin and may read no files except its own code.
 * @param preload format whose code the process loads while waiting; it can still read any other format
 * @throws ExtractError `internal` if the process can't be started
 */
export async function startChild(limits: ChildLimits, preload: ChildFormat): Promise<Child> {
  const { paths, cmapFolder, wasmFolder } = readable();
  const argument: ChildArgument = { preload, cmapFolder, wasmFolder };
  try {
    return await startConfined({
      name: 'extract',
      module: new URL('./child.ts', import.meta.url),
      argument,
      readable: paths,
      sources: await strippedSources(HERE),
      heapMib: Math.max(32, Math.floor((limits.memoryBytesMax - OFF_HEAP_BYTES) / MIB)),
      memoryBytesMax: limits.memoryBytesMax,
      cpuSeconds: Math.ceil(limits.deadlineMs / 1000) * 2 + 5 + IMAGES_CPU_SECONDS,
    });
  } catch (error) {
    throw new ExtractError('internal', 'the process that reads the document could not be started', error);
  }
}

interface Readables {
  readonly paths: string[];
  readonly cmapFolder: string | null;
  readonly wasmFolder: string | null;
}

let readables: Readables | null = null;

const READER_PACKAGES = [
  '@thednp/dommatrix',
  'iconv-lite',
  'markdown-it',
  'numfmt',
  'parse5',
  'pdfjs-dist',
  'postal-mime',
  'saxes',
  'yauzl',
];

/** List the paths of the child's code: this folder and the readers' packages, not the rest of the installation. */
function readable(): Readables {
  if (readables !== null) return readables;
  const packages = new Set<string>();
  for (const name of READER_PACKAGES) addPackage(name, import.meta.url, packages);
  const pdfjs = packageFolder('pdfjs-dist', import.meta.url);
  const cmapFolder = pdfjs === null ? null : join(pdfjs, 'cmaps/');
  const wasmFolder = pdfjs === null ? null : join(pdfjs, 'wasm/');
  const paths = [HERE, join(HERE, '../../../package.json'), ...packages];
  if (cmapFolder !== null) paths.push(cmapFolder);
  if (wasmFolder !== null) paths.push(wasmFolder);
  readables = { paths, cmapFolder, wasmFolder };
  return readables;
}

/** Add the folders of a package and all its dependencies. */
function addPackage(name: string, base: string, folders: Set<string>): void {
  const folder = requiredPackage(name, base);
  if (folders.has(folder)) return;
  folders.add(folder);
  const manifest = join(folder, 'package.json');
  const { dependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as { dependencies?: Record<string, string> };
  for (const dependency of Object.keys(dependencies)) addPackage(dependency, pathToFileURL(manifest).href, folders);
}

function requiredPackage(name: string, base: string): string {
  const folder = packageFolder(name, base);
  if (folder === null)
    throw new ExtractError('internal', `the package ${name} is not installed; install the service again`);
  return folder;
}

function packageFolder(name: string, base: string): string | null {
  try {
    const path = findPackageJSON(name, base);
    return path === undefined ? null : dirname(path);
  } catch {
    return null;
  }
}
