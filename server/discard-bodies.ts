import type { Socket } from 'node:net';

/** Interval between turns. A turn reads at most 2 MB, the amount that libuv reads from one socket at once. */
const TURN_MS = 10;

/**
 * Queue of connections whose clients still send unwanted bytes. They are read in turn, one at a time and with pauses,
 * since reading at full speed would keep the event loop busy.
 */
export class DiscardQueue {
  readonly #sockets = new Set<Socket>();
  #timer: NodeJS.Timeout | null = null;
  #isReading = false;

  /** Discard what arrives at a socket until it is closed. */
  add(socket: Socket): void {
    if (socket.destroyed) return;
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    this.#timer ??= setInterval(() => this.#takeTurn(), TURN_MS).unref();
  }

  #takeTurn(): void {
    // Node may run a due timer again before it reads the sockets.
    if (this.#isReading) return;
    const [socket] = this.#sockets;
    if (socket === undefined) {
      if (this.#timer !== null) clearInterval(this.#timer);
      this.#timer = null;
      return;
    }
    this.#sockets.delete(socket);
    socket.resume();
    this.#isReading = true;
    // Immediates run after the sockets are read.
    setImmediate(() => {
      this.#isReading = false;
      if (socket.destroyed) return;
      socket.pause();
      this.#sockets.add(socket);
    });
  }
}
