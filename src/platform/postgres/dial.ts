import { connect, type Socket } from 'node:net';

/** Error code for a server that accepts a connection and closes it before sending a byte. */
export const CLOSED_UNANSWERED = 'CLOSED_UNANSWERED';

/** Argument of the `socket` option of postgres.js. */
interface DialTarget {
  readonly host: readonly string[];
  readonly port: readonly number[];
}

/**
 * Open a client's connection, as its `socket` option. By default, if a connection is closed before the first byte, for
 * example by a proxy whose database is down, postgres.js retries immediately and forever while the query waits.
 */
export function dial({ host: [host = 'localhost'], port: [port = 5432] }: DialTarget): Socket {
  // postgres.js writes to the socket before it is connected; Node buffers those bytes.
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  socket.once('close', (hadError) => {
    if (hadError || socket.bytesRead > 0) return;
    const message = 'the server closed the connection before it sent a byte';
    socket.emit('error', Object.assign(new Error(message), { code: CLOSED_UNANSWERED }));
  });
  return socket;
}
