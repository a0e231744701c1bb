import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type ServerHttp2Session } from 'node:http2';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { TEST_CA, TEST_KEY } from './certificates.ts';

export interface TestServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Start a server that reports its version like Milvus, and answers nothing else. */
export async function startVersionServer(version: string): Promise<TestServer> {
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer();
  server.on('session', (session) => sessions.add(session));
  server.on('stream', (stream, headers) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.resume();
    // Both replies begin with an empty status. That of GetVersion has the version as field 2.
    const isVersion = String(headers[':path']).endsWith('/GetVersion');
    const field = isVersion ? Buffer.from([0x12, version.length, ...Buffer.from(version)]) : Buffer.alloc(0);
    const message = Buffer.concat([Buffer.from([0x0a, 0]), field]);
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    stream.end(Buffer.concat([prefix, message]));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Start a server that terminates TLS in front of a local port. */
export async function startTlsProxy(targetPort: number): Promise<TestServer> {
  const tls = { cert: readFileSync(TEST_CA), key: readFileSync(TEST_KEY), ALPNProtocols: ['h2'] };
  const sockets = new Set<Socket>();
  const server = createTlsServer(tls, (socket) => {
    const target = connect(targetPort, '127.0.0.1');
    socket.pipe(target).pipe(socket);
    for (const [from, to] of [
      [socket, target],
      [target, socket],
    ] as const) {
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  server.on('connection', (socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
