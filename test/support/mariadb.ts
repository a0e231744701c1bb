import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Connection } from 'mysql2/promise';
import { createConnection } from 'mysql2/promise';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

const SERVER = '/usr/sbin/mariadbd';
const SETTINGS = [
  '--no-defaults',
  '--skip-log-bin',
  '--innodb-flush-log-at-trx-commit=0',
  '--innodb-buffer-pool-size=32M',
  '--max-allowed-packet=64M',
];

export interface TestMariaDb {
  /** Connection of the administrator to the database `shop`. */
  readonly admin: Connection;
  /** URL of a user that may only read `shop`. */
  readonly url: string;
  /** URL of the administrator. */
  readonly administratorUrl: string;
  stop(): Promise<void>;
}

/** Return true if this machine has a server of MariaDB (Debian package `mariadb-server`). */
export function mariaDbAvailable(): boolean {
  return existsSync(SERVER);
}

/** Start a server with an empty database for one test. */
export async function startMariaDb(): Promise<TestMariaDb> {
  const directory = mkdtempSync(path.join(tmpdir(), 'service-test-mariadb-'));
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? ['--user=mysql'] : [];
  if (isRoot) {
    const id = (flag: string) => Number(execFileSync('id', [flag, 'mysql']).toString());
    chownSync(directory, id('-u'), id('-g'));
  }
  const data = path.join(directory, 'data');
  execFileSync(
    'mariadb-install-db',
    ['--no-defaults', `--datadir=${data}`, '--auth-root-authentication-method=normal', ...user],
    {
      stdio: 'ignore',
    },
  );
  const port = await freePort();
  const place = [`--datadir=${data}`, `--port=${port}`, '--bind-address=127.0.0.1', `--socket=${directory}/socket`];
  const child: ChildProcess = spawn(SERVER, [...SETTINGS, ...user, ...place, `--pid-file=${directory}/pid`], {
    stdio: 'ignore',
  });
  const options = { host: '127.0.0.1', port, user: 'root', charset: 'utf8mb4' };
  const admin = await until(() => createConnection(options).catch(() => null), { what: 'MariaDB', withinMs: 60_000 });
  await admin.query('CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_bin');
  await admin.query('USE shop');
  await admin.query("CREATE USER reader@localhost IDENTIFIED BY 'windlass'");
  await admin.query('GRANT SELECT ON shop.* TO reader@localhost');
  return {
    admin,
    url: `mysql://reader:windlass@127.0.0.1:${port}/shop`,
    administratorUrl: `mysql://root:@127.0.0.1:${port}/shop`,
    async stop() {
      admin.destroy();
      const ended = new Promise((resolve) => child.once('close', resolve));
      child.kill('SIGKILL');
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
