import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createPlainServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer, request } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type PeerCertificate, TLSSocket } from 'node:tls';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createHttpServer } from '../../server/http-server.ts';
import { openTls } from '../../server/tls/open-tls.ts';
import type { TlsSettings } from '../../src/platform/tls-settings.ts';
import { TEST_CA, TEST_KEY } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { keepLogs } from '../support/logs.ts';
import { pebbleAvailable, startPebble, type TestAuthority } from '../support/pebble.ts';
import { until } from '../support/until.ts';
import { rejection } from '../support/watched-database.ts';

const DOMAIN = 'embed.example.test';
const HANDSHAKE_MS = 1_000;
const BODY_BYTES = 8 * 1024 * 1024;

let dataDir: string;
let logs: ReturnType<typeof keepLogs>;
let opened: { close(): Promise<void> }[];
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), 'service-test-tls-'));
  logs = keepLogs();
  opened = [];
});
afterEach(async () => {
  for (const each of opened.toReversed()) await each.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Serve `hello` with TLS, as the API does. */
async function serve(tls: TlsSettings, answer: RequestListener = (_req, res) => void res.end('hello')) {
  const open = await openTls(tls, {
    ...{ dataDir, host: '127.0.0.1', logger: logs.logger, registry: new Registry(), isTakeover: false, lookMs: 50 },
    signal: new AbortController().signal,
  });
  opened.push(open);
  const server = createHttpServer(answer, {
    ...{ logger: logs.logger, tls: open },
    bounds: { headersTimeoutMs: HANDSHAKE_MS },
  });
  const listening = await server.listen({ host: '127.0.0.1', port: 0 });
  opened.push({ close: () => listening.close({ graceMs: 100 }) });
  open.attach(listening);
  return { ...listening, httpPort: open.httpPort };
}

interface Reply {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly certificate: PeerCertificate | null;
}

async function get(port: number, ca: string, options: { name?: string; path?: string } = {}): Promise<Reply> {
  const { name = DOMAIN, path: at = '/' } = options;
  const sent = request({
    host: '127.0.0.1',
    port,
    path: at,
    servername: name,
    ca,
    agent: false,
    headers: { host: name },
  });
  const [reply] = (await once(sent.end(), 'response')) as [IncomingMessage];
  const certificate = reply.socket instanceof TLSSocket ? reply.socket.getPeerCertificate() : null;
  let body = '';
  for await (const part of reply.setEncoding('utf8')) body += part;
  return { status: reply.statusCode, headers: reply.headers, body, certificate };
}

describe.skipIf(!pebbleAvailable())('a certificate by ACME', () => {
  let authority: TestAuthority;
  beforeAll(async () => {
    authority = await startPebble({ validSeconds: 6 });
  });
  afterAll(() => authority?.stop());

  const settings = (changes: { directoryUrl?: string; httpPort?: number } = {}): TlsSettings => ({
    domain: DOMAIN,
    httpPort: changes.httpPort ?? authority.httpPort,
    source: {
      acme: {
        ...{ domain: DOMAIN, email: 'keeper@example.test', caFile: authority.caFile },
        directoryUrl: changes.directoryUrl ?? authority.directoryUrl,
      },
    },
  });
  const files = () => readdirSync(path.join(dataDir, 'tls')).sort();

  test('is got at the first start, renewed while the server runs, and kept in files of the owner', async () => {
    const { port, url, httpPort } = await serve(settings());
    expect(url).toBe(`https://${DOMAIN}:${port}`);
    const first = await get(port, authority.root);
    expect([first.status, first.body, first.certificate?.subjectaltname]).toEqual([200, 'hello', `DNS:${DOMAIN}`]);
    expect(first.headers['strict-transport-security']).toBe('max-age=31536000');
    const second = await until(async () => {
      const reply = await get(port, authority.root);
      return reply.certificate?.serialNumber !== first.certificate?.serialNumber && reply;
    });
    expect(second.body).toBe('hello');
    expect(files()).toEqual(['account.pem', `${DOMAIN}.pem`]);
    for (const name of files()) expect(statSync(path.join(dataDir, 'tls', name)).mode & 0o777).toBe(0o600);
    expect(JSON.stringify(logs.lines)).not.toContain('PRIVATE KEY');

    const redirect = await fetch(`http://127.0.0.1:${httpPort}/v1/models?x=1`, { redirect: 'manual', method: 'POST' });
    expect([redirect.status, redirect.headers.get('location')]).toEqual([308, `${url}/v1/models?x=1`]);
    const unknown = await fetch(`http://127.0.0.1:${httpPort}/.well-known/acme-challenge/x`, { redirect: 'manual' });
    expect(unknown.status).toBe(308);
  });

  test('that is stored is used at the next start, even expired and without the authority, until it can be renewed', async () => {
    await serve(settings());
    for (const each of opened.splice(0).toReversed()) await each.close();
    const issued = authority.issued();
    const pem = readFileSync(path.join(dataDir, 'tls', `${DOMAIN}.pem`));
    await until(async () => logs.lines.length > 0 && Date.now() > Date.parse(String(logs.lines[0]?.['expires_at'])));
    const { port } = await serve(settings({ directoryUrl: `https://localhost:${await freePort()}/dir` }));
    expect(logs.messages()).toContain('the certificate has expired; renewing it now');
    expect(await rejection(get(port, authority.root))).toMatchObject({ code: 'CERT_HAS_EXPIRED' });
    await until(async () => logs.messages().includes('the expired certificate was not renewed'));
    // Further looks ask the authority no sooner than the pause allows.
    await until(async () => logs.lines.filter(({ level }) => level >= 40).length >= 2);
    expect(logs.messages().filter((message) => message === 'the expired certificate was not renewed')).toHaveLength(1);
    expect(readFileSync(path.join(dataDir, 'tls', `${DOMAIN}.pem`)).equals(pem)).toBe(true);
    expect(authority.issued()).toBe(issued);
    for (const each of opened.splice(0).toReversed()) await each.close();

    // Other settings are tried at once.
    const again = await serve(settings());
    await until(async () => (await get(again.port, authority.root).catch(() => null))?.body === 'hello');
    expect(files()).toEqual(
      ['account.pem', `${DOMAIN}.failures.json`, `${DOMAIN}.pem`].filter((n) => !n.endsWith('json')),
    );
  });

  test('that the authority refuses gives one clear error, and a start right after it does not ask again', async () => {
    // The authority asks for the challenge at another port than the one that this server opens.
    const wrong = settings({ httpPort: await freePort() });
    const error = await rejection(serve(wrong));
    expect(error).toMatchObject({ code: 'certificate_unavailable', status: 503 });
    expect((error as Error).message).toMatch(
      /^there is no certificate for embed\.example\.test from \S+: .*connection refused.*; the authority must reach this host by its name on port 80\. The next attempt may begin at \S+Z; changed settings may be tried at once\.$/,
    );
    const lines = logs.lines.length;
    expect(await rejection(serve(wrong))).toMatchObject({ message: (error as Error).message });
    expect(logs.lines).toHaveLength(lines);
    expect(files()).toEqual(['account.pem', `${DOMAIN}.failures.json`]);
  });

  test('is not asked for while the port for http is taken', async () => {
    const server = createPlainServer().listen(0, '127.0.0.1');
    opened.push({ close: () => new Promise((resolve) => server.close(() => resolve())) });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect(await rejection(serve(settings({ httpPort: port })))).toMatchObject({
      code: 'cannot_listen',
      message: expect.stringContaining(`port ${port} is already in use`),
    });
    expect(readdirSync(dataDir)).toEqual([]);
  });

  test.each([
    ['cannot be reached', null, /ECONNREFUSED/, 60],
    ['refuses too many requests', 429, /429|too many/i, 7200],
    ['answers nonsense', 200, /directory/i, 60],
  ] as const)('fails within its bounds if the authority %s', async (_case, status, reason, pauseSeconds) => {
    let asked = 0;
    const fake = createServer({ cert: readFileSync(TEST_CA), key: readFileSync(TEST_KEY) }, (_req, res) => {
      asked++;
      res.writeHead(status ?? 500, { 'Retry-After': '7200' }).end('{"detail":"too many certificates"}');
    }).listen(status === null ? undefined : 0, '127.0.0.1');
    await once(fake, 'listening');
    const { port } = fake.address() as AddressInfo;
    const close = () => new Promise<void>((resolve) => fake.close(() => resolve()));
    if (status === null) await close();
    else opened.push({ close });
    const error = await rejection(serve(settings({ directoryUrl: `https://localhost:${port}/dir` })));
    expect(error).toMatchObject({ code: 'certificate_unavailable', message: expect.stringMatching(reason) });
    expect(asked).toBe(status === null ? 0 : 1);
    const { not_before } = JSON.parse(readFileSync(path.join(dataDir, 'tls', `${DOMAIN}.failures.json`), 'utf8'));
    expect((Date.parse(not_before) - Date.now()) / 1000).toBeGreaterThan(pauseSeconds - 30);
    expect((Date.parse(not_before) - Date.now()) / 1000).toBeLessThanOrEqual(pauseSeconds);
  });
});

describe('a certificate in files', () => {
  const settings = (): TlsSettings => ({
    domain: null,
    httpPort: null,
    source: { certFile: path.join(dataDir, 'cert.pem'), keyFile: path.join(dataDir, 'key.pem') },
  });
  const write = () => {
    copyFileSync(TEST_CA, path.join(dataDir, 'cert.pem'));
    copyFileSync(TEST_KEY, path.join(dataDir, 'key.pem'));
  };

  test('serves, is read again when it changes, and a broken change leaves the one before in use', async () => {
    write();
    const { port, url } = await serve(settings());
    expect(url).toBe(`https://127.0.0.1:${port}`);
    const ca = readFileSync(TEST_CA, 'utf8');
    const first = await get(port, ca, { name: 'localhost' });
    expect(first.body).toBe('hello');
    writeFileSync(path.join(dataDir, 'cert.pem'), 'not a certificate');
    await until(async () => logs.lines.some(({ msg }) => msg.startsWith('the changed certificate files are not used')));
    expect((await get(port, ca, { name: 'localhost' })).body).toBe('hello');
    const [key, cert] = [path.join(dataDir, 'key.pem'), path.join(dataDir, 'cert.pem')];
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
        ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', cert],
      ],
      { stdio: 'ignore' },
    );
    await until(async () => logs.messages().includes('the certificate was replaced'));
    const second = await get(port, readFileSync(cert, 'utf8'), { name: 'localhost' });
    expect(second.certificate?.serialNumber).not.toBe(first.certificate?.serialNumber);
  });

  test('that is missing or does not fit its key is refused at the start, by the names of its files', async () => {
    expect(await rejection(serve(settings()))).toMatchObject({
      code: 'certificate_unusable',
      message: expect.stringMatching(/^cannot read .*cert\.pem and .*key\.pem \(ENOENT\): check tls\.cert_file/),
    });
    write();
    copyFileSync(TEST_CA, path.join(dataDir, 'key.pem'));
    expect(await rejection(serve(settings()))).toMatchObject({
      code: 'certificate_unusable',
      message: expect.stringContaining('it is not a certificate with its key in PEM'),
    });
  });

  test('keeps the bounds of the server: plain HTTP and a handshake that does not end are cut off', async () => {
    write();
    const { port, close } = await serve(settings());
    expect(await rejection(fetch(`http://127.0.0.1:${port}/`))).toBeInstanceOf(TypeError);
    const silent = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')] as const;
    await Promise.all(silent.map((socket) => once(socket, 'connect')));
    const beganMs = performance.now();
    await once(silent[0].resume(), 'close');
    expect(performance.now() - beganMs).toBeLessThan(HANDSHAKE_MS + 1_000);
    expect((await get(port, readFileSync(TEST_CA, 'utf8'), { name: 'localhost' })).status).toBe(200);
    const last = connect(port, '127.0.0.1').resume();
    await once(last, 'connect');
    await Promise.all([once(last, 'close'), close({ graceMs: 100 })]);
  });

  test('lets clients read a refusal that was sent while their bodies still arrived', async () => {
    write();
    const { port } = await serve(settings(), (_req, res) =>
      res.writeHead(413, { Connection: 'close' }).end('too large'),
    );
    const send = async () => {
      const options = { host: '127.0.0.1', port, method: 'POST', servername: 'localhost', agent: false as const };
      const sent = request({ ...options, ca: readFileSync(TEST_CA), headers: { 'content-length': BODY_BYTES } });
      sent.write(Buffer.alloc(BODY_BYTES));
      const [reply] = (await once(sent, 'response')) as [IncomingMessage];
      reply.resume();
      sent.on('error', () => undefined).destroy();
      return reply.statusCode;
    };
    expect(await Promise.all(Array.from({ length: 20 }, send))).toEqual(Array.from({ length: 20 }, () => 413));
  });
});
