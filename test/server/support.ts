import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { type AppSettings, createApp } from '../../server/app.ts';
import { BodyMemory } from '../../server/body/body-memory.ts';
import { createHttpServer, type HttpServerBounds, type Listening } from '../../server/http-server.ts';
import type { Idempotency } from '../../server/middleware/idempotency.ts';
import { ReplyMemory } from '../../server/reply-memory.ts';
import type { Route } from '../../server/route.ts';
import { trustedProxies } from '../../server/trusted-proxies.ts';
import type { Caller, Scope } from '../../src/access/caller.ts';
import { FailedLogins } from '../../src/access/failed-logins.ts';
import type { IdempotencyLock } from '../../src/access/idempotency.ts';
import { AppError } from '../../src/platform/errors.ts';
import { FairGate } from '../../src/platform/fair-gate.ts';
import { type Logger, openLogger } from '../../src/platform/logger.ts';
import { type Metrics, openMetrics } from '../../src/platform/metrics.ts';
import { RefusalBrake } from '../../src/platform/refusal-brake.ts';
import { openThreads, type Threads } from '../../src/platform/threads.ts';

export interface TestServer extends Listening {
  readonly metrics: Metrics;
  readonly uploadDirectory: string;
}

/** Start a real server for `routes` on a free port of the loopback interface; it is closed after the test. */
export async function startTestServer(
  routes: readonly Route[],
  overrides: {
    bounds?: Partial<HttpServerBounds>;
    bodyBytes?: number;
    uploadBytes?: number;
    logger?: Logger;
    settings?: Partial<AppSettings>;
  } = {},
): Promise<TestServer> {
  const uploadDirectory = await mkdtemp(path.join(tmpdir(), 'server-'));
  const logger = overrides.logger ?? openLogger('silent');
  const metrics = openMetrics();
  const threads = openThreads();
  const limits = {
    bodyBytes: overrides.bodyBytes ?? 64 * 1024,
    uploadBytes: overrides.uploadBytes ?? 256 * 1024,
    uploadDirectory: path.join(uploadDirectory, 'uploads'),
  };
  const app = createApp({
    routes,
    resolveCaller,
    idempotency: memoryIdempotency(),
    logger,
    metrics,
    limits,
    rates: { take: () => null },
    bodyMemory: new BodyMemory(64 * 1024 * 1024),
    replyMemory: new ReplyMemory(),
    threads,
    moving: { requireStaying: async () => undefined },
    failedLogins: noBrake,
    unreadBodies: noRefusalBrake,
    capacity: enoughCapacity(),
    proxies: trustedProxies([]),
    ...overrides.settings,
  });
  const server = createHttpServer(app.callback, { logger, bounds: { lingerMs: 300, ...overrides.bounds } });
  const listening = await server.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    await listening.close({ graceMs: 0 });
    await threads.close();
    await rm(uploadDirectory, { recursive: true, force: true });
  });
  return { ...listening, metrics, uploadDirectory: limits.uploadDirectory };
}

/** Resolve `Bearer <scope>,<scope>` to a key with those scopes in the organization `org_test`. */
async function resolveCaller(authorization: string | undefined): Promise<Caller> {
  const scopes = /^Bearer ([a-z:_,]+)$/.exec(authorization ?? '')?.[1];
  if (scopes === undefined) {
    throw new AppError({ code: 'invalid_api_key', status: 401, message: 'send a valid API key' });
  }
  return {
    kind: 'api_key',
    actor: 'key:test',
    orgId: 'org_test',
    plan: 'enterprise',
    userId: null,
    role: null,
    department: null,
    scopes: new Set(scopes.split(',') as Scope[]),
    authLevel: 5,
  };
}

/** Make capacity that no test uses up. */
export function enoughCapacity(): AppSettings['capacity'] {
  const gate = () => new FairGate({ runningMax: 1000, runningOfOneMax: 1000, waitingOfOneMax: 1 });
  return { queries: gate(), search: gate(), runs: gate(), maps: gate(), rehearsals: gate() };
}

/** Brake on guessing credentials that no test reaches. */
export const noBrake = new FailedLogins({ perMinute: 1e6 });

/** Brake on bodies that are refused unread, which no test reaches. */
export const noRefusalBrake = new RefusalBrake({ burst: 1e6, perSecond: 1e6 });

/** Threads of an application whose bodies are all small. */
export const noThreads: Threads = {
  run: () => Promise.reject(new Error('no body is large here')),
  close: async () => undefined,
};

/** Make an `Idempotency` in memory, in place of that in PostgreSQL (`src/access/idempotency.ts`). */
export function memoryIdempotency(): Idempotency & { readonly keys: ReadonlyMap<string, unknown> } {
  const keys = new Map<string, { fingerprint: string; response: { status: number; body: unknown } | null }>();
  const lockOf = (orgId: string, key: string): IdempotencyLock => ({ orgId, key, attempt: '' });
  return {
    keys,
    extendEveryMs: 60_000,
    extend: async () => true,
    async begin({ orgId, key, fingerprint }) {
      const held = keys.get(`${orgId}/${key}`);
      if (held === undefined) {
        keys.set(`${orgId}/${key}`, { fingerprint: fingerprint.toString('hex'), response: null });
        return { state: 'new', lock: lockOf(orgId, key) };
      }
      if (held.fingerprint !== fingerprint.toString('hex')) {
        throw new AppError({ code: 'idempotency_key_reused', status: 422, message: 'used with another request' });
      }
      if (held.response === null) {
        throw new AppError({ code: 'idempotency_in_progress', status: 409, message: 'still in progress' });
      }
      return { state: 'replay', ...held.response };
    },
    async finish(lock, response) {
      const held = keys.get(`${lock.orgId}/${lock.key}`);
      if (held !== undefined) held.response = JSON.parse(JSON.stringify(response));
    },
    showsHidden: async () => false,
    async abandon(lock) {
      keys.delete(`${lock.orgId}/${lock.key}`);
    },
  };
}

export function postJson(server: TestServer, route: string, body: unknown, headers: Record<string, string> = {}) {
  return fetch(server.url + route, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: 'Bearer embed', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  });
}

/** Client that writes raw bytes to a socket. */
export class RawClient {
  readonly socket: Socket;
  received = '';

  static async connect(port: number): Promise<RawClient> {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true, allowHalfOpen: true });
    await once(socket, 'connect');
    const client = new RawClient(socket);
    onTestFinished(() => {
      socket.destroy();
    });
    return client;
  }

  constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      this.received += text;
    });
    socket.on('error', () => undefined);
  }

  write(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /** Wait until the server has closed its side, and return all that was received. */
  async closedByServer(): Promise<string> {
    if (!this.socket.readableEnded && !this.socket.destroyed) {
      await this.#next('end', 'close');
    }
    return this.received;
  }

  /** Wait until the connection is closed on both sides. */
  async closed(): Promise<void> {
    if (!this.socket.closed) await this.#next('close');
  }

  /** Wait until `pattern` has been received. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.received)) {
      if (this.socket.destroyed || this.socket.readableEnded) throw new Error(`closed after: ${this.received}`);
      await this.#next('data', 'end', 'close');
    }
    return this.received;
  }

  /** Wait for the next of some events. Unlike `events.once` this does not fail on a reset, which tests expect. */
  #next(...names: string[]): Promise<void> {
    return new Promise((resolve) => {
      for (const name of names) this.socket.once(name, () => resolve());
    });
  }
}

/** Parse a raw response. */
export function parseResponse(raw: string): { status: number; headers: Map<string, string>; json: unknown } {
  const [head = '', body = ''] = raw.split('\r\n\r\n', 2);
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  return { status: Number(statusLine.split(' ')[1]), headers, json: body === '' ? null : JSON.parse(body) };
}
