import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';

const PAGE = path.join(import.meta.dirname, '../../docs/scaling.md');

/** HAProxy with the configuration of `docs/scaling.md` in front of two cells. */
export interface CellProxy {
  readonly url: string;
  /** Send the requests of a key to the second cell, as the page says. */
  addMoved(keyId: string): Promise<void>;
  close(): Promise<void>;
}

/** @param cells addresses of the two cells @param prefix prefix of new keys of the second cell */
export async function startCellProxy(cells: readonly [string, string], prefix: string): Promise<CellProxy> {
  const directory = mkdtempSync(path.join(tmpdir(), 'service-test-haproxy-'));
  const port = await freePort();
  const moved = path.join(directory, 'moved.map');
  const socket = path.join(directory, 'admin.sock');
  writeFileSync(path.join(directory, 'cells.map'), `${prefix} cell-b\n`);
  writeFileSync(moved, '');
  const [, example = ''] = /```haproxy\n([\s\S]*?)```/.exec(readFileSync(PAGE, 'utf8')) ?? [];
  const config = example
    .replaceAll('/etc/haproxy/', `${directory}/`)
    .replace('/run/haproxy/admin.sock', socket)
    .replace(/bind :443 ssl crt \S+/, `bind 127.0.0.1:${port}`)
    .replace('10.0.0.10:8080', new URL(cells[0]).host)
    .replace('10.0.0.20:8080', new URL(cells[1]).host);
  const file = path.join(directory, 'haproxy.cfg');
  writeFileSync(file, config);
  const child: ChildProcess = spawn('haproxy', ['-f', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (part: string) => {
    stderr += part;
  });
  const exited = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  await until(
    async () => {
      if (child.exitCode !== null) throw new Error(`haproxy ended: ${stderr}`);
      return fetch(`${url}/healthz`).then(
        () => true,
        () => false,
      );
    },
    { what: 'haproxy' },
  );
  return {
    url,
    addMoved: (keyId) => sendCommand(socket, `add map ${moved} ${keyId} cell-b`),
    async close() {
      child.kill('SIGKILL');
      await exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function sendCommand(socket: string, command: string): Promise<void> {
  const client = connect(socket);
  client.end(`${command}\n`);
  let answer = '';
  for await (const part of client.setEncoding('utf8')) answer += part;
  if (answer.trim() !== '') throw new Error(`haproxy refused "${command}": ${answer}`);
}
