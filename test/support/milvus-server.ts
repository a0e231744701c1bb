import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { MilvusSettings } from '../../src/platform/storage-settings.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

export interface TestMilvus {
  readonly settings: MilvusSettings;
  /** Kill the server, and keep its data. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Stop the server from responding, and let it respond again. */
  pause(): void;
  resume(): void;
  /** Kill the server, and remove its data. */
  drop(): Promise<void>;
}

/** Start Milvus Lite with an empty database on a free port of the loopback address. */
export async function startMilvus(): Promise<TestMilvus> {
  const directory = realpathSync(mkdtempSync(path.join(tmpdir(), 'service-test-milvus-')));
  const port = await freePort();
  let child = await startChild(directory, port);
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  };
  return {
    settings: { url: `http://127.0.0.1:${port}`, token: null, database: 'default', caFile: null },
    kill,
    async start() {
      child = await startChild(directory, port);
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    async drop() {
      await kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function startChild(directory: string, port: number): Promise<ChildProcess> {
  const [data, log] = [path.join(directory, 'data'), path.join(directory, 'log')];
  const command = 'exec milvus-lite server --data-dir "$1" --host 127.0.0.1 --port "$2" > "$3" 2>&1';
  const child = spawn('sh', ['-c', command, 'sh', data, String(port), log], {
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], HOME: directory },
  });
  await until(
    async () => {
      if (child.exitCode !== null) throw new Error(`milvus-lite ended: ${readFileSync(log, 'utf8')}`);
      return new Promise<boolean>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => {
          socket.destroy();
          resolve(true);
        });
        socket.once('error', () => resolve(false));
      });
    },
    { what: 'milvus-lite', withinMs: 30_000 },
  );
  return child;
}
