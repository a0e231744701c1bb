import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { makeDataDir } from '../support/appliance.ts';
import { pebbleAvailable, startPebble, type TestAuthority } from '../support/pebble.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { runCommand } from './service.ts';

const DOMAIN = 'embed.example.test';

describe.skipIf(!pebbleAvailable())('serve --domain', () => {
  let authority: TestAuthority;
  let data: ReturnType<typeof makeDataDir>;
  beforeAll(async () => {
    authority = await startPebble();
    data = makeDataDir();
    const { directoryUrl, caFile, httpPort } = authority;
    const tls = `tls: {acme_directory: '${directoryUrl}', acme_ca_file: '${caFile}', http_port: ${httpPort}}\n`;
    writeFileSync(path.join(data.dataDir, 'service.yaml'), `${tls}ballast_bytes: 0\n`, { mode: 0o600 });
  });
  afterAll(async () => {
    await authority?.stop();
    data?.remove();
  });
  const env = () => ({ SERVICE_DATA_DIR: data.dataDir });
  const args = ['serve', '--domain', DOMAIN, '--host', '127.0.0.1', '--port', '0'];

  test('refuses to ask an authority whose terms nobody agreed to', async () => {
    const { code, stderr, stdout } = await runCommand(args, env());
    expect(code).not.toBe(0);
    expect(stdout + stderr).toContain('set tls.agree_to_terms: true or --agree-to-terms');
  });

  test('serves https by the certificate that it got, with cookies for https only, and keeps it for the next start', async () => {
    const start = () => startServiceProcess([...args, '--agree-to-terms'], env());
    const service = await start();
    onTestFinished(() => void service.signal('SIGKILL'));
    const { url = '', key_file: keyFile = '' } = service.ready;
    expect(url).toMatch(/^https:\/\/embed\.example\.test:\d+$/);
    expect(service.ready['console_url']).toMatch(/^https:\/\/embed\.example\.test:\d+\/console/);
    const json = JSON.stringify({ credential: readFileSync(keyFile, 'utf8').trim() });
    const signedIn = await post(url, '/v1/sessions', json);
    expect([signedIn.status, signedIn.cookie]).toEqual([201, expect.stringMatching(/; Secure/)]);
    // A command finds the running server by its record, and asks it past TLS.
    expect((await runCommand(['orgs', 'list', '--json'], env())).code).toBe(0);
    await service.end('SIGTERM');
    expect(service.ended()).toMatchObject({ code: 0 });
    const again = await start();
    await again.end('SIGTERM');
    expect(authority.issued()).toBe(1);
    rmSync(path.join(data.dataDir, 'tls'), { recursive: true });
  }, 120_000);

  async function post(url: string, at: string, body: string): Promise<{ status?: number | undefined; cookie: string }> {
    const { port } = new URL(url);
    const headers = { host: DOMAIN, origin: url, 'content-type': 'application/json' };
    const options = { ...{ host: '127.0.0.1', port, path: at, method: 'POST', headers }, agent: false as const };
    const sent = request({ ...options, servername: DOMAIN, ca: authority.root }).end(body);
    const [reply] = (await once(sent, 'response')) as [IncomingMessage];
    reply.resume();
    return { status: reply.statusCode, cookie: String(reply.headers['set-cookie']) };
  }
});
