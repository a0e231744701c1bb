import { connect, type Socket } from 'node:net';

/** Length of a CancelRequest; the server closes its connection without an answer. */
const CANCEL_REQUEST_BYTES = 16;

/** Code of the error when a server accepts a connection and closes it before it sends a byte. */
export const CLOSED_UNANSWERED = 'CLOSED_UNANSWERED';

/** Argument of the `socket` option of postgres.js 3.4.9, which also reads these properties from the socket. */
export interface DialOptions {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path: string | false | undefined;
  socket?: (options: DialOptions) => Socket;
}

/**
 * Make postgres.js open its connections with `dial`. By default it retries a connection that is closed before the first
 * byte, for example by a proxy whose database is down, at once and without end, while the query waits. With several
 * hosts postgres.js opens the connections itself, since it tries one host after the other.
 */
export function useDial(options: DialOptions): void {
  if (options.host.length === 1) options.socket = dial;
}

function dial({ host: [host = 'localhost'], port: [port = 5432], path }: DialOptions): Socket {
  // postgres.js writes to the socket before it is connected; Node buffers those bytes.
  const socket = path ? connect(path) : connect(port, host);
  socket.once('close', (hadError) => {
    if (hadError || socket.bytesRead > 0 || socket.bytesWritten === CANCEL_REQUEST_BYTES) return;
    const message = 'the server closed the connection before it sent a byte';
    socket.emit('error', Object.assign(new Error(message), { code: CLOSED_UNANSWERED }));
  });
  return Object.assign(socket, { host, port }); // used by postgres.js for the TLS server name and in error messages
}
