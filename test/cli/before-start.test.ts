import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from './service.ts';

const SERVICE = fileURLToPath(new URL('../../bin/service', import.meta.url));
const FULL = '/dev/full';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'before-start-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const serve = (...flags: string[]) => runCommand(['serve', '--data-dir', folder, ...flags], {});

test('an unknown host is found before anything is created', async () => {
  const refused = await serve('--host', 'nosuch.invalid', '--port', '0');
  expect(refused).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/^service: the host name nosuch\.invalid [^\n]*\n$/),
  });
  expect(readdirSync(folder)).toEqual([]);
});

test('a taken port is found before anything is created', async () => {
  const other = createServer((_, response) => response.end('other'));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo;
  const refused = await serve('--port', String(port));
  other.closeAllConnections();
  other.close();
  expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining('already in use by another program') });
  expect(readdirSync(folder)).toEqual([]);
});

test
  .runIf(existsSync(FULL))
  .each([[['--help']], [['--version']], [['search', '--help']], [['models', 'list', '--json']]])(
  'service %s says in one line that its output cannot be written',
  (args) => {
    const { status, stderr } = spawnSync(SERVICE, args, {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], SERVICE_DATA_DIR: folder },
      stdio: ['ignore', openSync(FULL, 'w'), 'pipe'],
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr.split('\n').filter((line) => !line.startsWith('service: there is no installation'))).toEqual([
      'service: the output cannot be written: no space left on device',
      '',
    ]);
  },
);
