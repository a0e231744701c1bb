import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inject } from 'vitest';
import { TEST_CA, TEST_KEY } from './certificates.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/** ACME server of a test: the authority, and a DNS in which every name is 127.0.0.1. */
export interface TestAuthority {
  readonly directoryUrl: string;
  /** CA certificate file for its HTTPS. */
  readonly caFile: string;
  /** Port on which it validates challenges. */
  readonly httpPort: number;
  /** Root of the certificates that it issues, PEM. */
  readonly root: string;
  /** Number of certificates that it has issued. */
  issued(): number;
  stop(): Promise<void>;
}

/** Return true if this machine has Pebble. Without it, tests that need an ACME server are skipped. */
export function pebbleAvailable(): boolean {
  return inject('servers').pebble;
}

/** Start Pebble, which refuses a fifth of the nonces. @param options.validSeconds validity of its certificates */
export async function startPebble(options: { readonly validSeconds?: number } = {}): Promise<TestAuthority> {
  const directory = await mkdtemp(path.join(tmpdir(), 'service-test-pebble-'));
  const [port, managementPort, httpPort] = [await freePort(), await freePort(), await freePort()];
  const [tlsPort, dnsPort, dnsManagementPort] = [await freePort(), await freePort(), await freePort()];
  const config = path.join(directory, 'pebble.json');
  const pebble = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    ...{ certificate: TEST_CA, privateKey: TEST_KEY, httpPort, tlsPort },
    certificateValidityPeriod: options.validSeconds ?? 3600,
  };
  await writeFile(config, JSON.stringify({ pebble }));
  const dns = spawn(
    'pebble-challtestsrv',
    [
      ...['-defaultIPv4', '127.0.0.1', '-defaultIPv6', '', '-dns01', `127.0.0.1:${dnsPort}`],
      ...['-http01', '', '-https01', '', '-tlsalpn01', '', '-management', `127.0.0.1:${dnsManagementPort}`],
    ],
    { stdio: 'ignore' },
  );
  const authority = spawn('pebble', ['-config', config, '-dnsserver', `127.0.0.1:${dnsPort}`], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '20' },
  });
  let log = '';
  authority.stdout.setEncoding('utf8').on('data', (part: string) => {
    log += part;
  });
  const root = await until(() => get(`https://localhost:${managementPort}/roots/0`).catch(() => null));
  return {
    directoryUrl: `https://localhost:${port}/dir`,
    ...{ caFile: TEST_CA, httpPort, root },
    issued: () => log.split('Issued certificate serial').length - 1,
    async stop() {
      await Promise.all([end(authority), end(dns)]);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
}

async function get(url: string): Promise<string> {
  const sent = request(url, { ca: readFileSync(TEST_CA) }).end();
  const [reply] = await once(sent, 'response');
  let text = '';
  for await (const part of reply.setEncoding('utf8')) text += part;
  return text;
}
