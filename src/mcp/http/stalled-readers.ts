import type { Server } from 'node:http';
import type { Socket } from 'node:net';

const SWEEP_MS = 5_000;

/**
 * Destroys connections whose client has not read anything for `stalledMs` although bytes are waiting, so that unread
 * answers do not stay in memory.
 */
export class StalledReaders {
  readonly #sockets = new Map<Socket, { flushed: number; sinceMs: number }>();
  readonly #timer: NodeJS.Timeout;

  constructor(server: Server, stalledMs: number) {
    server.on('connection', (socket: Socket) => {
      this.#sockets.set(socket, { flushed: 0, sinceMs: performance.now() });
      socket.on('close', () => this.#sockets.delete(socket));
    });
    this.#timer = setInterval(() => this.#sweep(stalledMs), Math.min(SWEEP_MS, stalledMs / 2)).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #sweep(stalledMs: number): void {
    const nowMs = performance.now();
    for (const [socket, state] of this.#sockets) {
      // Node counts bytes in its own buffer as written.
      const flushed = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength === 0 || flushed > state.flushed) {
        state.flushed = flushed;
        state.sinceMs = nowMs;
      } else if (nowMs - state.sinceMs >= stalledMs) {
        socket.destroy();
      }
    }
  }
}
