import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Fault of a request; null if the request is forwarded unchanged. */
export type S3Fault =
  /** Answer of the proxy itself. */
  | { readonly status: number; readonly code: string; readonly message?: string }
  /** The connection is closed before the store sees the request, or after the store has processed it. */
  | 'cut before'
  | 'cut after'
  /** After `afterBytes` bytes, the response is cut off, stalls, or has a wrong byte. */
  | { readonly body: 'broken off' | 'silent' | 'damaged'; readonly afterBytes: number }
  | null;

export interface S3Proxy {
  readonly endpoint: string;
  /** Choose the fault of each request. A test may replace it at any time. */
  decide: (request: { method: string; path: string; headers: IncomingMessage['headers'] }) => S3Fault;
  /** Every request in the order of arrival: `PUT /bucket/key?query`. */
  readonly seen: string[];
  /** Number of requests without a complete answer whose client is still connected. */
  openRequests(): number;
  close(): Promise<void>;
}

/**
 * Start a proxy of an S3 server. With `isDishonest` it removes the conditions of every write, so that the write
 * succeeds as on a store without conditional writes.
 */
export async function startS3Proxy(target: string, options: { isDishonest?: boolean } = {}): Promise<S3Proxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const seen: string[] = [];
  let open = 0;
  const server = createServer((incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming;
    seen.push(`${method} ${url}`);
    open++;
    outgoing.once('close', () => {
      open--;
    });
    const fault = proxy.decide({ method, path: url, headers });
    if (fault === 'cut before') return incoming.socket.destroy();
    if (fault !== null && typeof fault === 'object' && 'status' in fault) return answer(incoming, outgoing, fault);
    const { 'if-none-match': condition, ...rest } = headers;
    const passed = options.isDishonest && method !== 'GET' ? rest : { ...rest, 'if-none-match': condition };
    const known = Object.fromEntries(Object.entries(passed).filter(([, value]) => value !== undefined));
    const upstream = request({ hostname, port, method, path: url, headers: known }, (reply) => {
      if (fault === 'cut after') {
        incoming.socket.destroy();
        reply.resume();
        return;
      }
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers);
      if (fault === null) reply.pipe(outgoing);
      else spoil(reply, outgoing, fault);
    });
    upstream.on('error', () => incoming.socket.destroy());
    incoming.pipe(upstream);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const proxy: S3Proxy = {
    endpoint: `http://127.0.0.1:${address.port}`,
    decide: () => null,
    seen,
    openRequests: () => open,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}

function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  fault: { status: number; code: string; message?: string },
): void {
  incoming.resume();
  incoming.on('end', () => {
    outgoing.writeHead(fault.status, { 'Content-Type': 'application/xml' });
    const isHead = incoming.method === 'HEAD';
    outgoing.end(
      isHead
        ? undefined
        : `<Error><Code>${fault.code}</Code><Message>${fault.message ?? 'fault set by the test'}</Message></Error>`,
    );
  });
}

function spoil(
  reply: IncomingMessage,
  outgoing: ServerResponse,
  { body, afterBytes }: { body: 'broken off' | 'silent' | 'damaged'; afterBytes: number },
): void {
  let passed = 0;
  let isDone = false;
  reply.on('data', (chunk: Buffer) => {
    if (isDone && body !== 'damaged') return;
    const place = afterBytes - passed;
    passed += chunk.length;
    if (isDone || place >= chunk.length) {
      outgoing.write(chunk);
      return;
    }
    isDone = true;
    if (body === 'damaged') {
      const damaged = Buffer.from(chunk);
      damaged.writeUInt8(damaged.readUInt8(place) ^ 1, place);
      outgoing.write(damaged);
      return;
    }
    outgoing.write(chunk.subarray(0, place), () => {
      if (body === 'broken off') outgoing.socket?.destroy();
    });
  });
  reply.on('end', () => {
    if (!isDone || body === 'damaged') outgoing.end();
  });
}
