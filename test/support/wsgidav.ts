import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inject } from 'vitest';
import { TEST_CA, TEST_KEY } from './certificates.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

export const DAV_USER = 'keeper';
export const DAV_PASSWORD = 'Guillemöt & samphire';

export interface TestWebdav {
  readonly url: string;
  /** Local folder that the server exposes. */
  readonly folder: string;
  /** Stop the server, and keep its files. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stop the server, and remove its files. */
  drop(): Promise<void>;
}

/** Return true if this machine has WsgiDAV. Without it, tests that need a WebDAV server are skipped. */
export function webdavAvailable(): boolean {
  return inject('servers').wsgidav;
}

/** Start WsgiDAV with one user and an empty folder, on a free port of the loopback address. */
export async function startWebdav(options: { readonly isTls?: boolean } = {}): Promise<TestWebdav> {
  const directory = realpathSync(mkdtempSync(path.join(tmpdir(), 'service-test-dav-')));
  const folder = path.join(directory, 'files');
  mkdirSync(folder);
  const port = await freePort();
  const tls = options.isTls ? { ssl_certificate: TEST_CA, ssl_private_key: TEST_KEY, ssl_adapter: 'builtin' } : {};
  const config = path.join(directory, 'wsgidav.json');
  // JSON with the names of wsgidav.readthedocs.io/en/latest/user_guide_configure.html
  const settings = {
    ...{ host: '127.0.0.1', port, provider_mapping: { '/shared files': folder }, dir_browser: { enable: false } },
    simple_dc: { user_mapping: { '*': { [DAV_USER]: { password: DAV_PASSWORD } } } },
    http_authenticator: { accept_basic: true, accept_digest: false, default_to_digest: false },
    ...{ ...tls, logging: { enable: false }, verbose: 1 },
  };
  writeFileSync(config, JSON.stringify(settings));
  let child = await startChild(config, port, directory);
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  };
  return {
    url: `${options.isTls ? 'https' : 'http'}://127.0.0.1:${port}/shared%20files`,
    folder,
    stop,
    async start() {
      child = await startChild(config, port, directory);
    },
    async drop() {
      await stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function startChild(config: string, port: number, directory: string): Promise<ChildProcess> {
  const log = path.join(directory, 'log');
  const child = spawn('sh', ['-c', 'exec wsgidav --config "$1" > "$2" 2>&1', 'sh', config, log], {
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], HOME: directory },
  });
  await until(
    async () => {
      if (child.exitCode !== null) throw new Error(`wsgidav ended: ${readFileSync(log, 'utf8')}`);
      return new Promise<boolean>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => {
          socket.destroy();
          resolve(true);
        });
        socket.once('error', () => resolve(false));
      });
    },
    { what: 'wsgidav' },
  );
  return child;
}
