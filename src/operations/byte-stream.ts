import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { AppError } from '../platform/errors.ts';

/** Maximum size of a part of a body. */
const PART_BYTES_MAX = 1024 * 1024;
const LENGTH_BYTES = 4;
const NEWLINE = 0x0a;

/** Reader of lines and bodies from a socket. It does one read at a time. */
export class SocketReader {
  readonly #socket: Socket;
  readonly #parts: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#parts = socket.iterator({ destroyOnReturn: false });
  }

  /** Read `bytes` bytes. @throws if the other side ends the connection early */
  async readBytes(bytes: number): Promise<Buffer> {
    const parts = [this.#rest];
    for (let total = this.#rest.length; total < bytes; ) {
      const part = await this.#next();
      parts.push(part);
      total += part.length;
    }
    const all = parts.length === 1 ? this.#rest : Buffer.concat(parts);
    this.#rest = all.subarray(bytes);
    return all.subarray(0, bytes);
  }

  /** Read a line without its line end. @throws if it exceeds `bytesMax`, or if the other side ends the connection */
  async readLine(bytesMax: number): Promise<string> {
    const parts: Buffer[] = [];
    for (let part = this.#rest, total = 0; ; part = await this.#next()) {
      const end = part.indexOf(NEWLINE);
      total += part.length;
      if (total > bytesMax) throw new Error('the line is too long');
      parts.push(end < 0 ? part : part.subarray(0, end));
      if (end < 0) continue;
      this.#rest = part.subarray(end + 1);
      return Buffer.concat(parts).toString();
    }
  }

  /**
   * Read a body: parts prefixed by their lengths, then the length 0.
   * @throws if the other side stops before the end
   */
  async *readBody(): AsyncGenerator<Buffer> {
    for (;;) {
      const length = (await this.readBytes(LENGTH_BYTES)).readUInt32BE();
      if (length === 0) return;
      if (length > PART_BYTES_MAX) throw new Error('a part of the body is too long');
      yield await this.readBytes(length);
    }
  }

  /** Discard everything until the other side ends the connection. */
  async untilEnd(): Promise<void> {
    for (;;) if ((await this.#parts.next()).done) return;
  }

  async #next(): Promise<Buffer> {
    const { done, value } = await this.#parts.next();
    if (done)
      throw this.#socket.errored ?? new AppError({ code: 'interrupted', status: 499, message: 'the connection ended' });
    return value;
  }
}

/** Send a body in the form that `readBody` reads. @throws the signal's reason; the error of the body or the socket */
export async function sendBody(socket: Socket, body: Readable, signal: AbortSignal): Promise<void> {
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      for (let at = 0; at < chunk.length; at += PART_BYTES_MAX) {
        const part = chunk.subarray(at, at + PART_BYTES_MAX);
        await write(socket, Buffer.concat([lengthOf(part.length), part]), signal);
      }
    }
    await write(socket, lengthOf(0), signal);
  } finally {
    body.destroy();
  }
}

export function streamOf(body: AsyncGenerator<Buffer>): Readable {
  const stream = Readable.from(body, { objectMode: false });
  // The stream's reader gets the error. Without a reader, drop the error.
  return stream.on('error', () => undefined);
}

function lengthOf(bytes: number): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(bytes);
  return length;
}

async function write(socket: Socket, bytes: Buffer, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (!socket.write(bytes)) await once(socket, 'drain', { signal });
}
