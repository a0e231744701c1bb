import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inject } from 'vitest';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

export interface TestPgBouncer {
  readonly port: number;
  pid(): number | null;
  signal(name: NodeJS.Signals): void;
  /** Kill it and wait for its end. */
  kill(): Promise<void>;
  start(): Promise<void>;
  drop(): Promise<void>;
}

/** Return true if this machine has a pgbouncer. Without one, tests that need it are skipped. */
export function pgBouncerAvailable(): boolean {
  return inject('servers').pgbouncer;
}

/**
 * Start a PgBouncer in transaction mode for one test, on a free port of the loopback address. It accepts every client,
 * and uses the credentials of `server`.
 *
 * @param server PostgreSQL on a port of the loopback address
 */
export async function startPgBouncer(
  server: { readonly port: number; readonly username: string; readonly password: string },
  options: { poolSize?: number } = {},
): Promise<TestPgBouncer> {
  const directory = await mkdtemp(path.join(tmpdir(), 'service-test-pgbouncer-'));
  const port = await freePort();
  const file = path.join(directory, 'pgbouncer.ini');
  const isRoot = process.getuid?.() === 0;
  const password = server.password.replaceAll("'", "''");
  const lines = [
    '[databases]',
    `* = host=127.0.0.1 port=${server.port} user='${server.username}' password='${password}'`,
    '[pgbouncer]',
    ...['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir =', 'auth_type = any'],
    ...['pool_mode = transaction', `default_pool_size = ${options.poolSize ?? 20}`, 'max_client_conn = 1000'],
    ...['server_login_retry = 1', 'server_connect_timeout = 5', 'query_wait_timeout = 10'],
    // PgBouncer does not run as root.
    ...(isRoot ? ['user = nobody'] : []),
  ];
  await writeFile(file, `${lines.join('\n')}\n`, { mode: 0o644 });
  await chmod(directory, 0o755);
  let child: ChildProcess | null = null;
  const isRunning = () => child !== null && child.exitCode === null && child.signalCode === null;
  const bouncer: TestPgBouncer = {
    port,
    pid: () => (isRunning() ? (child?.pid ?? null) : null),
    signal: (name) => {
      if (isRunning()) child?.kill(name);
    },
    async kill() {
      if (child === null || !isRunning()) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
    async start() {
      let output = '';
      const own = spawn('pgbouncer', [file], { stdio: ['ignore', 'ignore', 'pipe'] });
      own.stderr.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-2_000);
      });
      child = own;
      await until(
        async () => {
          if (own.exitCode !== null) throw new Error(`pgbouncer ended with ${own.exitCode}: ${output}`);
          return listens(port);
        },
        { what: 'pgbouncer' },
      );
    },
    async drop() {
      await bouncer.kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
  await bouncer.start();
  return bouncer;
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
