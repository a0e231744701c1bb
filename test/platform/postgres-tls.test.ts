import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { mapPostgresError, openPostgres } from '../../src/platform/postgres.ts';
import { rejection, watchedDatabase } from '../support/watched-database.ts';

const OPENSSL = spawnSync('openssl', ['version']).status === 0;
const SSL_REQUEST_BYTES = 8;

const watched = watchedDatabase();
const folder = mkdtempSync(path.join(tmpdir(), 'service-test-'));
const sockets = new Set<Socket>();
const fronts: Server[] = [];
/** Names that clients asked for, one for each connection. */
let askedFor: unknown[] = [];

/** Answer the SSLRequest of a client, and pass its decrypted bytes on to the database. */
function terminateTls(socket: Socket, secrets: { key: Buffer; cert: Buffer }): void {
  const { host, port } = watched.database.connection;
  sockets.add(socket.on('error', () => undefined));
  socket.once('data', (bytes) => {
    expect(bytes).toHaveLength(SSL_REQUEST_BYTES);
    socket.write('S');
    const secure = new TLSSocket(socket, { isServer: true, ...secrets }).on('error', () => socket.destroy());
    secure.on('secure', () => askedFor.push((secure as { servername?: unknown }).servername));
    const database = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    database.on('error', () => secure.destroy()).on('close', () => secure.destroy());
    secure.on('close', () => database.destroy());
    secure.pipe(database).pipe(secure);
  });
}

async function connectBy(front: Server, query: string): Promise<unknown> {
  const { username, password, database } = watched.database.connection;
  const { port } = front.address() as AddressInfo;
  const url = `postgres://${username}:${password.reveal()}@localhost:${port}/${database}?${query}`;
  const sql = openPostgres({ url }, { poolMax: 1, applicationName: 'tls' });
  try {
    return (await sql`select 1 as one`)[0]?.['one'];
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Start a server that terminates TLS with a certificate for `name`. */
async function startFront(name: string): Promise<{ front: Server; certificate: string }> {
  const [key, certificate] = ['key', 'crt'].map((kind) => path.join(folder, `${name}.${kind}`)) as [string, string];
  const made = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`];
  const names = ['-addext', `subjectAltName=DNS:${name}`];
  execFileSync('openssl', ['req', ...made, ...names, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
  const secrets = { key: readFileSync(key), cert: readFileSync(certificate) };
  const front = createServer((socket) => terminateTls(socket, secrets)).listen(0, '127.0.0.1');
  fronts.push(front);
  await once(front, 'listening');
  return { front, certificate };
}

describe.skipIf(!OPENSSL)('a database behind TLS', () => {
  let front: Server;
  let certificate: string;
  beforeAll(async () => {
    ({ front, certificate } = await startFront('localhost'));
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    for (const each of fronts) each.close();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    askedFor = [];
  });

  test.each([
    ['sslmode=require', (): string => 'sslmode=require'],
    ['its own certificate', (): string => `sslrootcert=${encodeURIComponent(certificate)}`],
  ])('is asked for by its name with %s', async (_, query) => {
    expect(await connectBy(front, query())).toBe(1);
    expect(askedFor).toEqual(['localhost']);
  });

  test('is refused with sslmode=verify-full if no known authority signed its certificate', async () => {
    const error = mapPostgresError(await rejection(connectBy(front, 'sslmode=verify-full')));
    expect(error).toMatchObject({ code: 'postgres_refused' });
    expect(String(error)).toContain('cannot be verified');
  });

  test('is refused if its certificate is that of another name', async () => {
    const other = await startFront('other.example');
    const query = `sslrootcert=${encodeURIComponent(other.certificate)}`;
    expect(await rejection(connectBy(other.front, query))).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });
});
