import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import { type AddressInfo, createServer as createListener, type Server as Listener, type Socket } from 'node:net';
import { AppError, invalidRequest } from '../src/platform/errors.ts';
import { yieldToEventLoop } from '../src/platform/event-loop.ts';
import type { Logger } from '../src/platform/logger.ts';
import { Connection, type ConnectionBounds } from './connection.ts';
import { requestTimeout } from './errors.ts';
import type { Identity } from './tls/certificates.ts';

/** Limits on slow and greedy clients. */
export interface HttpServerBounds extends ConnectionBounds {
  /** Time limit for the headers, from the opening of the connection or from the first byte of a later request. */
  readonly headersTimeoutMs: number;
  /** Maximum idle time of a connection between requests. */
  readonly keepAliveMs: number;
  readonly headerBytesMax: number;
  readonly connectionsMax: number;
}

const DEFAULT_BOUNDS: HttpServerBounds = {
  headersTimeoutMs: 10_000,
  // In each window, a body must complete or arrive at this average rate.
  bodyWindowMs: 15_000,
  bodyBytesPerSecondMin: 1024,
  // A body of 1 MB must arrive at 26 kB/s on average, one of 512 MB at 298 kB/s.
  bodyFreeMs: 30_000,
  announcedBytesPerSecond: 128 * 1024,
  bodyMsMax: 30 * 60_000,
  // Time for discarding the rest of the body after a response that didn't wait for it.
  lingerMs: 2_000,
  // Longer than the 60 s of common proxies, which would otherwise reuse a connection that this server is closing.
  keepAliveMs: 65_000,
  headerBytesMax: 16 * 1024,
  connectionsMax: 4096,
};

export interface Listening {
  /** URL such as `http://127.0.0.1:8080`. For a wildcard address, the host is one that works on this machine. */
  readonly url: string;
  readonly port: number;
  /** Use another certificate for new connections. Only for a server with TLS. */
  setIdentity(identity: Identity): void;
  /**
   * Stop accepting connections, let running requests finish, and cut off those that remain after `graceMs`.
   * @param options.idleMs time to keep idle connections open, each for one more request, so that requests already on
   *   their way get a response (default 0)
   */
  close(options: { graceMs: number; idleMs?: number }): Promise<void>;
}

/** Address to listen on, or file descriptor of a socket bound by another process. */
export type ListenAt =
  | { readonly host: string; readonly port: number }
  | { readonly host: string; readonly fd: number };

/** TLS of a server. */
export interface ServerTls {
  readonly identity: Identity;
  /** Host name in the server's address; null for the address it listens on. */
  readonly domain: string | null;
}

const HEADERS_MAX = 100;
const SWEEP_MS = 1_000;
const CLOSING_SWEEP_MS = 50;
const HTTPS_PORT = 443;
/** Tells browsers to use https for this host for a year (RFC 6797). */
const HSTS = 'max-age=31536000';

/** Create an HTTP/1.1 server for `callback` that does not listen yet. It renders protocol errors like all others. */
export function createHttpServer(
  callback: RequestListener,
  settings: { logger: Logger; bounds?: Partial<HttpServerBounds>; tls?: ServerTls | null },
): { listen(address: ListenAt): Promise<Listening> } {
  const { tls = null } = settings;
  const bounds = { ...DEFAULT_BOUNDS, ...settings.bounds };
  const connections = new Map<Socket, Connection>();
  let isClosing = false;

  const serve = (req: IncomingMessage, res: ServerResponse) => {
    const connection = connections.get(req.socket);
    const isFirst = connection?.begin(req, res) === true;
    const fault = headerFault(req);
    if (fault !== null) {
      connection?.refuse(invalidRequest(fault));
      return;
    }
    if (isClosing) res.setHeader('Connection', 'close');
    if (tls !== null) res.setHeader('Strict-Transport-Security', HSTS);
    if (isFirst) void inTurn(() => callback(req, res), res);
    else callback(req, res);
  };
  const server = openServer(tls, {
    maxHeaderSize: bounds.headerBytesMax,
    headersTimeout: bounds.headersTimeoutMs,
    // Node's own limit covers the whole body and would cut off a large upload that makes progress.
    requestTimeout: 0,
    keepAliveTimeout: bounds.keepAliveMs,
    connectionsCheckingInterval: Math.min(SWEEP_MS, bounds.headersTimeoutMs),
    // `serve` checks this itself, so that the error has the usual shape.
    requireHostHeader: false,
    noDelay: true,
  });
  // The HTTP server handles this listener's connections. Closing an HTTP server also closes its idle connections;
  // closing the listener only stops new ones.
  const listener = createListener();
  server.maxHeadersCount = HEADERS_MAX;
  server.maxConnections = bounds.connectionsMax;
  server.on('request', serve);
  // The body reader sends `100 Continue` when it wants the body, so that clients never send a refused body.
  server.on('checkContinue', serve);
  server.on('checkExpectation', (req: IncomingMessage, res: ServerResponse) => {
    const connection = connections.get(req.socket);
    connection?.begin(req, res);
    const message = 'the only supported expectation is 100-continue';
    connection?.refuse(new AppError({ code: 'expectation_failed', status: 417, message }));
  });
  const underTls = tls === null ? new Set<Socket>() : trackSockets(server);
  server.on(tls === null ? 'connection' : 'secureConnection', (socket: Socket) => {
    connections.set(socket, new Connection(socket, bounds));
    socket.on('close', () => connections.delete(socket));
  });
  server.on('clientError', (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Socket) => {
    const connection = connections.get(socket);
    // Without a connection, the TLS handshake has failed.
    if (connection === undefined) socket.destroy();
    else connection.refuse(protocolError(error), error.rawPacket);
  });
  server.on('drop', () =>
    settings.logger.warn({ connections: connections.size }, 'a connection was refused because too many are open'),
  );

  const sweep = sweepEvery(Math.min(SWEEP_MS, bounds.bodyWindowMs), connections);
  const close = async (times: { graceMs: number; idleMs?: number }): Promise<void> => {
    isClosing = true;
    listener.close();
    await closeServer(server, { connections, underTls }, times);
    clearInterval(sweep);
  };

  return {
    async listen(address) {
      // The caller reports an error of listening.
      await listening(listener, address);
      await once(server.listen(listener), 'listening');
      server.on('error', (error) => settings.logger.error({ err: error }, 'the HTTP server failed'));
      const { port } = server.address() as AddressInfo;
      let closing: Promise<void> | null = null;
      return {
        url: urlOf(tls, address.host, port),
        port,
        setIdentity: (identity) => (server as TlsServer).setSecureContext(contextOf(identity)),
        close: (times) => (closing ??= close(times)),
      };
    },
  };
}

/**
 * Start each connection's first request in its own iteration of the event loop. If hundreds of connections open
 * together, requests on other connections don't wait for all of them: 20 ms instead of 23 at the 99th percentile during
 * attack 12 of `npm run bench -- attacks`, whose goal is 26.
 */
async function inTurn(begin: () => void, res: ServerResponse): Promise<void> {
  await yieldToEventLoop();
  // The client may have disconnected.
  if (!res.closed) begin();
}

/** Check the bodies of all connections periodically. */
function sweepEvery(sweepMs: number, connections: ReadonlyMap<Socket, Connection>): NodeJS.Timeout {
  let sweptAtMs = performance.now();
  return setInterval(() => {
    const nowMs = performance.now();
    // After this process was paused, the data sent meanwhile hasn't been read yet.
    const wasPaused = nowMs - sweptAtMs > 2 * sweepMs;
    sweptAtMs = nowMs;
    for (const connection of connections.values()) connection.sweep(nowMs, wasPaused);
  }, sweepMs).unref();
}

/** Track the open TCP connections of a TLS server, including those still in their handshake. */
function trackSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  return sockets;
}

function openServer(tls: ServerTls | null, options: ServerOptions): Server {
  if (tls === null) return createServer(options);
  return createTlsServer({ ...options, ...contextOf(tls.identity), handshakeTimeout: options.headersTimeout });
}

/** Return the TLS options for a certificate. Node.js accepts TLS 1.2 and 1.3. */
function contextOf({ chain, key }: Identity): { cert: string; key: string } {
  return { cert: chain, key: key.reveal() };
}

function urlOf(tls: ServerTls | null, host: string, port: number): string {
  if (tls === null) return `http://${hostToOpen(host)}:${port}`;
  const name = tls.domain ?? hostToOpen(host);
  return port === HTTPS_PORT ? `https://${name}` : `https://${name}:${port}`;
}

/**
 * Find a fault in the headers that name the target and sender of a request. Of duplicate headers, Node would use the
 * first, but a proxy in front perhaps the second.
 */
function headerFault(req: IncomingMessage): string | null {
  const { headers, rawHeaders } = req;
  if (headers.host === undefined && req.httpVersion === '1.1') return 'the header Host is required';
  let hosts = 0;
  let credentials = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
    else if (name.length === 13 && name.toLowerCase() === 'authorization') credentials++;
  }
  if (hosts > 1) return 'the header Host was sent more than once';
  return credentials > 1 ? 'the header Authorization was sent more than once' : null;
}

async function closeServer(
  server: Server,
  {
    connections,
    underTls,
  }: { readonly connections: ReadonlyMap<Socket, Connection>; readonly underTls: ReadonlySet<Socket> },
  { graceMs, idleMs = 0 }: { graceMs: number; idleMs?: number },
): Promise<void> {
  for (const connection of connections.values()) connection.stopAfterResponse();
  let idle: NodeJS.Timeout | undefined;
  const closeIdle = () => {
    for (const connection of connections.values()) connection.destroyIfUnused();
    server.closeIdleConnections();
    idle = setInterval(() => server.closeIdleConnections(), CLOSING_SWEEP_MS);
  };
  const idleDeadline = idleMs > 0 ? setTimeout(closeIdle, idleMs) : undefined;
  if (idleMs === 0) closeIdle();
  const deadline = setTimeout(() => {
    for (const connection of connections.values()) connection.destroy();
  }, graceMs);
  const closed = (socket: Socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await Promise.all([...connections.keys()].map(closed));
  clearTimeout(deadline);
  clearTimeout(idleDeadline);
  clearInterval(idle);
  // The remaining ones have not finished their handshakes.
  for (const socket of underTls) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
}

async function listening(listener: Listener, address: ListenAt): Promise<void> {
  listener.listen('fd' in address ? { fd: address.fd } : { host: address.host, port: address.port });
  try {
    await once(listener, 'listening');
  } catch (error) {
    throw 'fd' in address ? error : listenError(error as NodeJS.ErrnoException, address.host, address.port);
  }
}

/** Check, before opening anything else, that a server can listen here. @throws AppError `cannot_listen` */
export async function checkAddress(address: { readonly host: string; readonly port: number }): Promise<void> {
  const probe = createListener();
  await listening(probe, address);
  await new Promise((resolve) => probe.close(resolve));
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): unknown {
  const where = `${host} port ${port}`;
  const why: Record<string, string> = {
    EADDRINUSE: `${where} is already in use; stop what listens there, or choose another port`,
    EACCES: `this user may not listen on ${where}; choose a port above 1023, or grant the capability CAP_NET_BIND_SERVICE`,
    EAFNOSUPPORT: `this machine does not support addresses like ${host}; choose another host, such as 0.0.0.0`,
    EADDRNOTAVAIL: `this machine has no address ${host}; choose another host`,
    ENOTFOUND: `the host name ${host} is unknown; give an address of this machine`,
    EAI_AGAIN: `the host name ${host} cannot be looked up; give an address of this machine`,
  };
  const message = why[error.code ?? ''];
  return message === undefined ? error : new AppError({ code: 'cannot_listen', status: 500, message, cause: error });
}

function hostToOpen(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}

/** Map an error or timeout of Node's HTTP parser to an AppError. */
function protocolError(error: NodeJS.ErrnoException): AppError {
  switch (error.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return requestTimeout('the headers did not arrive in time');
    case 'HPE_HEADER_OVERFLOW':
      return new AppError({ code: 'headers_too_large', status: 431, message: 'the headers are too large' });
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new AppError({ code: 'body_too_large', status: 413, message: 'the chunk extensions are too large' });
    case 'HPE_INVALID_EOF_STATE':
      return invalidRequest('the connection was closed before the request was complete', null, 'bad_http');
    default:
      return invalidRequest('this is not a well-formed HTTP/1.1 request', null, 'bad_http');
  }
}
