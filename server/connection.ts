import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { AppError } from '../src/platform/errors.ts';
import { newId } from '../src/platform/ids.ts';
import { announcesBody } from './body/body-headers.ts';
import { releaseMemory } from './body/release-memory.ts';
import { DiscardQueue } from './discard-bodies.ts';
import { familyOfPath, type RenderedError, renderError, requestTimeout } from './errors.ts';
import { requestIdOf } from './request-id.ts';
import { SECURITY_HEADERS } from './security-headers.ts';

export interface ConnectionBounds {
  readonly bodyWindowMs: number;
  readonly bodyBytesPerSecondMin: number;
  /** Time that any body may take, however small. */
  readonly bodyFreeMs: number;
  /** Rate that determines the additional time for an announced body. Larger bodies must be faster. */
  readonly announcedBytesPerSecond: number;
  /** Maximum time for a body, including one of unknown length. */
  readonly bodyMsMax: number;
  readonly lingerMs: number;
}

const LINGER_BYTES_MAX = 16 * 1024 * 1024;
/**
 * Interval for checking a lingering connection. Don't read before the first check, since most clients close the
 * connection by then.
 */
const LINGER_CHECK_MS = 100;

const discards = new DiscardQueue();

/**
 * Client connection. It checks the rate at which bodies arrive, and closes the socket. A response that doesn't wait for
 * the body (410, 401, 413, …) would be lost if the socket were destroyed right after it: bytes that arrive at a closed
 * socket cause a reset, which discards unread data at the client. Therefore the server closes its own side first, waits
 * briefly for the client to do the same, and then discards arriving bytes for some time.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #bounds: ConnectionBounds;
  #req: IncomingMessage | null = null;
  #res: ServerResponse | null = null;
  /** Window in which the body must make progress; null while the server isn't reading. */
  #window: { startedAtMs: number; bytesRead: number } | null = null;
  /** Time for which the server has waited for the body so far, and start of the current wait. */
  #waitedMs = 0;
  #waitingSinceMs: number | null = null;
  #hasBegun = false;
  #isRefused = false;
  #lingering: NodeJS.Timeout | null = null;

  constructor(socket: Socket, bounds: ConnectionBounds) {
    this.#socket = socket;
    this.#bounds = bounds;
    // Node calls this at the end of a response with `Connection: close`.
    socket.destroySoon = () => this.#closeSoon();
    socket.on('close', () => {
      if (this.#lingering !== null) clearInterval(this.#lingering);
      // Node drops a request after the response, so code still reading its body would never see the end.
      if (this.#req !== null && !this.#req.complete) this.#req.destroy();
    });
  }

  /** Begin a request. Return true if it is the first of this connection. */
  begin(req: IncomingMessage, res: ServerResponse): boolean {
    const isFirst = !this.#hasBegun;
    this.#hasBegun = true;
    this.#req = req;
    this.#res = res;
    this.#window = null;
    this.#waitedMs = 0;
    this.#waitingSinceMs = null;
    return isFirst;
  }

  /**
   * Check the rate of the body. Called about once a second. `wasPaused`: this process was suspended, not its clients.
   */
  sweep(nowMs: number, wasPaused: boolean): void {
    const req = this.#req;
    if (req === null || this.#lingering !== null) return;
    if (req.complete) {
      if (this.#res?.writableFinished) this.#req = this.#res = null;
      return;
    }
    // The stream isn't flowing: no code has requested the body yet, or the disk is slower than the client.
    if (wasPaused || req.readableFlowing !== true || !announcesBody(req)) {
      this.#window = null;
      this.#waitingSinceMs = null;
      return;
    }
    if (this.#waitingSinceMs !== null) this.#waitedMs += nowMs - this.#waitingSinceMs;
    this.#waitingSinceMs = nowMs;
    const dueMs = this.#bodyMs(req);
    if (this.#waitedMs > dueMs) {
      this.refuse(requestTimeout(`the body did not arrive within ${Math.ceil(dueMs / 1000)} s`));
      return;
    }
    const { bytesRead } = this.#socket;
    const { bodyWindowMs, bodyBytesPerSecondMin } = this.#bounds;
    this.#window ??= { startedAtMs: nowMs, bytesRead };
    if (nowMs - this.#window.startedAtMs < bodyWindowMs) return;
    if (bytesRead - this.#window.bytesRead < (bodyBytesPerSecondMin * bodyWindowMs) / 1000) {
      this.refuse(requestTimeout(`the body arrived at less than ${bodyBytesPerSecondMin} bytes a second`));
    } else {
      this.#window = { startedAtMs: nowMs, bytesRead };
    }
  }

  /** Return the time limit for a body. A larger announced body must arrive at a higher rate. */
  #bodyMs(req: IncomingMessage): number {
    const { bodyFreeMs, announcedBytesPerSecond, bodyMsMax } = this.#bounds;
    const announced = req.headers['content-length'];
    if (announced === undefined) return bodyMsMax;
    return Math.min(bodyMsMax, bodyFreeMs + (Number(announced) / announcedBytesPerSecond) * 1000);
  }

  /**
   * Send a protocol error, if still possible, and close the connection.
   * @param firstBytes unparseable bytes, whose first line may still contain the path
   */
  refuse(error: AppError, firstBytes?: Buffer): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    const socket = this.#socket;
    const res = this.#res;
    if (!socket.writable || (res?.headersSent && !res.writableEnded)) {
      socket.destroy();
      return;
    }
    if (res === null || res.writableEnded) {
      const path = /^[A-Z]+ (\S{1,200})/.exec(firstBytes?.toString('latin1', 0, 256) ?? '')?.[1] ?? '';
      const requestId = newId('req');
      socket.write(rawResponse(renderError(error, familyOfPath(path), requestId), requestId));
      this.#closeSoon();
      return;
    }
    const requestId = requestIdOf(res.req);
    const rendered = renderError(error, familyOfPath(res.req.url ?? ''), requestId);
    const length = Buffer.byteLength(rendered.body);
    res.writeHead(rendered.status, {
      ...SECURITY_HEADERS,
      ...rendered.headers,
      'X-Request-Id': requestId,
      'Content-Length': length,
      Connection: 'close',
    });
    res.end(rendered.body);
  }

  /** Accept no more requests on this connection, because the process is stopping. */
  stopAfterResponse(): void {
    const res = this.#res;
    if (res !== null && !res.writableEnded && !res.headersSent) res.setHeader('Connection', 'close');
  }

  /** Close this connection if it hasn't received any byte yet. */
  destroyIfUnused(): void {
    if (this.#socket.bytesRead === 0) this.#socket.destroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #closeSoon(): void {
    const socket = this.#socket;
    if (this.#lingering !== null || socket.destroyed) return;
    const mayStillSend = this.#isRefused || (this.#req !== null && !this.#req.complete && announcesBody(this.#req));
    if (!mayStillSend) {
      if (socket.writableFinished) socket.destroy();
      else socket.end(() => socket.destroy());
      return;
    }
    socket.end();
    socket.once('end', () => socket.destroy());
    this.#req?.resume();
    // Before that, Node resumes the socket of the finished request. If it had paused the socket, because nobody read
    // the body, we could not resume it later.
    setImmediate(() => {
      // Stop parsing: the parser would copy every byte.
      socket.removeAllListeners('data').on('data', releaseMemory);
      socket.pause();
    });
    const beganMs = performance.now();
    const untilBytes = socket.bytesRead + LINGER_BYTES_MAX;
    let isDiscarding = false;
    this.#lingering = setInterval(() => {
      const lingeredMs = performance.now() - beganMs;
      if (lingeredMs >= this.#bounds.lingerMs || socket.bytesRead >= untilBytes) socket.destroy();
      else if (!isDiscarding) discards.add(socket);
      isDiscarding = true;
    }, LINGER_CHECK_MS).unref();
  }
}

const REASON: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  431: 'Request Header Fields Too Large',
};

function rawResponse(rendered: RenderedError, requestId: string): string {
  const headers = {
    ...SECURITY_HEADERS,
    ...rendered.headers,
    'X-Request-Id': requestId,
    'Content-Length': Buffer.byteLength(rendered.body),
    Connection: 'close',
    Date: new Date().toUTCString(),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${rendered.status} ${REASON[rendered.status] ?? 'Error'}\r\n${lines.join('')}\r\n${rendered.body}`;
}
