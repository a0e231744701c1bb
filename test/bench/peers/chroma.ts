import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PACKAGES = ['chromadb==1.5.0', 'numpy'];

/** Answers of a batch of queries, in their order. */
export interface ChromaReply {
  readonly times: readonly number[];
  /** Rows of the vectors that were found, best first. */
  readonly found: readonly (readonly number[])[];
}

export interface Chroma {
  readonly version: string;
  /** Time in which all vectors were added. */
  readonly seconds: number;
  query(from: number, to: number): Promise<ChromaReply>;
  stop(): Promise<void>;
}

/**
 * Make a virtual environment with Chroma, unless it is there.
 *
 * @returns its Python; null, with the reason on stderr, if there is no Python or the package index cannot be reached
 */
export function prepareChroma(directory: string): string | null {
  const python = path.join(directory, 'bin', 'python');
  if (!existsSync(python) && !runs('python3', ['-m', 'venv', directory])) return null;
  const isThere = spawnSync(python, ['-c', 'import chromadb, numpy'], { stdio: 'ignore' }).status === 0;
  if (isThere || runs(python, ['-m', 'pip', 'install', '--quiet', ...PACKAGES])) return python;
  return null;
}

function runs(program: string, args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;
}

/** Start a process that holds these vectors in Chroma. */
export async function startChroma(
  python: string,
  files: { readonly vectors: string; readonly queries: string },
  shape: { readonly dimensions: number; readonly results: number },
): Promise<Chroma> {
  const script = fileURLToPath(new URL('./chroma.py', import.meta.url));
  const args = [script, files.vectors, files.queries, String(shape.dimensions), String(shape.results)];
  const child: ChildProcess = spawn(python, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ANONYMIZED_TELEMETRY: 'False' },
  });
  const exited = once(child, 'exit');
  const ended = exited.then(([code]) => {
    throw new Error(`Chroma ended with ${code}`);
  });
  ended.catch(() => {});
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const read = async () => JSON.parse(String((await Promise.race([once(lines, 'line'), ended]))[0]));
  const ready = (await read()) as { ready: string; seconds: number };
  return {
    version: ready.ready,
    seconds: ready.seconds,
    async query(from, to) {
      child.stdin?.write(`${JSON.stringify({ from, to })}\n`);
      return (await read()) as ChromaReply;
    },
    async stop() {
      child.stdin?.end();
      await exited;
    },
  };
}
