import { connect, type Socket } from 'node:net';

/** A CancelRequest has this length, and the server closes its connection without an answer. */
const CANCEL_REQUEST_BYTES = 16;

/** The code of the error where a server took a connection and closed it before it said a word. */
export const CLOSED_UNANSWERED = 'CLOSED_UNANSWERED';

/** What postgres.js 3.4.9 hands to its `socket` option, and what it reads from the socket that it gets. */
export interface DialOptions {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path: string | false | undefined;
  socket?: (options: DialOptions) => Socket;
}

/**
 * Have postgres.js make its connections by `dial`. Left alone it takes a connection that is closed before the first
 * word, as by a proxy whose database is away, for a reason to dial again: at once, without end, with the query waiting
 * behind it. Several hosts are left to postgres.js, which goes from one to the next.
 */
export function useDial(options: DialOptions): void {
  if (options.host.length === 1) options.socket = dial;
}

function dial({ host: [host = 'localhost'], port: [port = 5432], path }: DialOptions): Socket {
  // Written to before it is connected: what is written waits.
  const socket = path ? connect(path) : connect(port, host);
  socket.once('close', (hadError) => {
    if (hadError || socket.bytesRead > 0 || socket.bytesWritten === CANCEL_REQUEST_BYTES) return;
    const message = 'the server closed the connection before it said a word';
    socket.emit('error', Object.assign(new Error(message), { code: CLOSED_UNANSWERED }));
  });
  return Object.assign(socket, { host, port }); // for the name in TLS, and for the words of its errors
}
