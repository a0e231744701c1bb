import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inject } from 'vitest';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

export interface TestRedis {
  /** Value of `REDIS_URL`. */
  readonly url: string;
  /** Stop the server; its data is lost. */
  stop(): Promise<void>;
  /** Start an empty server on the same port, after stopping a running one. */
  restart(): Promise<void>;
  /** Keep connections open without an answer until `resume`. */
  pause(): void;
  resume(): void;
  /** Stop the server and remove its directory. */
  drop(): Promise<void>;
}

/** Return true if this machine has a redis-server. Without one, tests that need it are skipped. */
export function redisAvailable(): boolean {
  return inject('servers').redis;
}

/** Start a Redis for one test on a free port of the loopback address. It writes nothing to disk. */
export async function startRedis(options: { password?: string } = {}): Promise<TestRedis> {
  const { password } = options;
  const directory = await mkdtemp(path.join(tmpdir(), 'service-test-redis-'));
  const port = await freePort();
  let server: ChildProcess | null = null;

  const start = async () => {
    const settings = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', ''];
    if (password !== undefined) settings.push('--requirepass', password);
    const child = spawn('redis-server', [...settings, '--appendonly', 'no'], { stdio: 'ignore' });
    server = child;
    await until(
      async () => {
        if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`);
        return answers(port);
      },
      { what: 'redis-server' },
    );
  };
  const stop = async () => {
    const child = server;
    server = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  };

  await start();
  return {
    url: `redis://${password === undefined ? '' : `:${password}@`}127.0.0.1:${port}`,
    stop,
    restart: async () => {
      await stop();
      await start();
    },
    pause: () => {
      server?.kill('SIGSTOP');
    },
    resume: () => {
      server?.kill('SIGCONT');
    },
    drop: async () => {
      await stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Return true if the server answers PING. With a password the answer is an error, which counts too. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.once('data', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
