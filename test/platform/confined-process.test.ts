import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import os, { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startConfined } from '../../src/platform/confined-process.ts';
import { findConfinement } from '../../src/platform/confinement.ts';
import type { ConfinedReport, ConfinedTargets } from '../support/confined-child.ts';

// Tests of the process for untrusted input against the sockets of this machine. The child tries what a parser could try
// that was taken over by its document; without confinement each attempt succeeds.
const CHILD = new URL('../support/confined-child.ts', import.meta.url);
const MIB = 1024 * 1024;
const isRoot = process.getuid?.() === 0;
const manifest = fileURLToPath(new URL('../../package.json', import.meta.url));
const readable = [fileURLToPath(CHILD), manifest];
const { enter, user } = await findConfinement(readable);

const folder = mkdtempSync(path.join(tmpdir(), 'service-test-'));
const servers: net.Server[] = [];
let targets: ConfinedTargets;

const listen = async (options: net.ListenOptions) => {
  const server = net.createServer((socket) => socket.destroy());
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(options, resolve));
  return server;
};

beforeAll(async () => {
  const socketPath = path.join(folder, 'open.socket');
  const abstractSocket = `\0service-test-${process.pid}`;
  await listen({ path: socketPath, readableAll: true, writableAll: true });
  await listen({ path: abstractSocket });
  const tcp = await listen({ host: '127.0.0.1', port: 0 });
  targets = { socketPath, abstractSocket, port: (tcp.address() as AddressInfo).port, parentPid: process.pid };
});
afterAll(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Outcome extends ConfinedReport {
  /** Lines of `/proc/<pid>/status`. */
  readonly status: string;
  /** True if the child's root folder has the folder of this test, as this process sees it. */
  readonly hasFolder: boolean;
  readonly niceness: number;
  /** Line of `/proc/<pid>/autogroup`; null where the system has none. */
  readonly session: string | null;
}

/** Run the child confined, and look at it from outside before it ends. */
async function runConfined(argument: ConfinedTargets): Promise<Outcome> {
  const child = await startConfined({
    ...{ name: 'test', module: CHILD, argument, readable },
    ...{ heapMib: 64, memoryBytesMax: 256 * MIB, cpuSeconds: 30 },
  });
  const errors = text(child.stderr);
  const [line] = (await once(createInterface(child.stdout), 'line').catch(() => [])) as [string?];
  const status = readFileSync(`/proc/${child.pid}/status`, 'latin1');
  const hasFolder = existsSync(`/proc/${child.pid}/root${folder}`);
  const niceness = os.getPriority(child.pid);
  const autogroup = `/proc/${child.pid}/autogroup`;
  const session = existsSync(autogroup) ? readFileSync(autogroup, 'latin1') : null;
  child.stdin.end();
  expect(await errors).toBe('');
  return { ...(JSON.parse(line ?? '') as ConfinedReport), status, hasFolder, niceness, session };
}

it('a confined process has a lower priority than the process that started it', async () => {
  expect((await runConfined(targets)).niceness).toBe(Math.min(19, os.getPriority() + 10));
});

it.runIf(existsSync('/proc/self/autogroup'))(
  'the session of a confined process has a lower priority, too',
  async () => {
    expect((await runConfined(targets)).session).toMatch(/ nice 10$/m);
  },
);

async function runFree(argument: ConfinedTargets): Promise<ConfinedReport> {
  const child = spawn(process.execPath, [fileURLToPath(CHILD), JSON.stringify(argument)], { stdio: 'pipe' });
  child.stdin.end();
  return JSON.parse(await text(child.stdout)) as ConfinedReport;
}

describe.skipIf(enter === null)('a process for untrusted input, with namespaces', () => {
  it('a confined process reaches no socket and no folder of this machine, while the same process unconfined does', async () => {
    expect(await runFree(targets)).toMatchObject({
      ...{ socket: 'connected', abstractSocket: 'connected', loopback: 'connected', signal: 'done' },
    });
    const report = await runConfined(targets);
    expect(report).toMatchObject({ socket: 'ENOENT', abstractSocket: 'ECONNREFUSED', loopback: 'ENETUNREACH' });
    expect(report.hasFolder).toBe(false);
    expect(report.status).toMatch(/^CapEff:\t0+$/m);
    expect(report.status).toMatch(/^CapBnd:\t0+$/m);
    expect(report.status).toMatch(/^NoNewPrivs:\t1$/m);
  });

  it("a confined process does not find PostgreSQL's socket, even as root", async () => {
    const { host, port } = inject('postgres');
    const socketPath = path.join(host, `.s.PGSQL.${port}`);
    expect((await runConfined({ ...targets, socketPath })).socket).toBe('ENOENT');
  });
});

describe.skipIf(!isRoot || user === null)('a process for untrusted input, started by root', () => {
  it('a confined process has a user of its own without capabilities, and can signal no other process', async () => {
    const report = await runConfined(targets);
    expect(report.signal).toBe('EPERM');
    expect(report.uid).toBeGreaterThanOrEqual(user?.uid ?? Number.NaN);
    expect(readFileSync('/etc/passwd', 'utf8')).not.toContain(`:${report.uid}:`);
  });

  it('a confined process can neither signal another one nor read its memory', async () => {
    const other = await startConfined({
      ...{ name: 'other', module: CHILD, argument: targets, readable },
      ...{ heapMib: 64, memoryBytesMax: 256 * MIB, cpuSeconds: 30 },
    });
    try {
      const [line] = (await once(createInterface(other.stdout), 'line')) as [string];
      const report = await runConfined({ ...targets, parentPid: other.pid ?? 0 });
      expect(report.signal).toBe('EPERM');
      expect(report.uid).not.toBe((JSON.parse(line) as ConfinedReport).uid);
    } finally {
      other.stdin.end();
    }
  });
});
