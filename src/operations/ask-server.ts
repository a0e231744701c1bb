import { connect, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { digestSettings, hasSettingsOf, type OperatorAccess, readOperatorAccess } from '../appliance/server-record.ts';
import { AppError } from '../platform/errors.ts';
import { SocketReader, sendBody, streamOf } from './byte-stream.ts';
import type { Reply, Request } from './wire.ts';

/** Reply of a server, and the bytes that accompany it. */
export interface Answer {
  readonly reply: Reply;
  readonly body: Readable | null;
}

/** List a data directory's servers that have the version and settings of the command. Some may have been killed. */
export function findServers(dataDir: string, env: NodeJS.ProcessEnv, version: string): OperatorAccess[] {
  return readOperatorAccess(dataDir).filter(
    (server) =>
      server.version === version && hasSettingsOf(server.settings, digestSettings(server.secret, env, dataDir)),
  );
}

/**
 * Send a request to a running server and wait for the reply.
 *
 * @param openBody opens the bytes that follow the request, if any
 * @returns null if the server is no longer running; nothing was sent in that case
 * @throws AppError `server_stopped` (503) if it stopped before it replied; the signal's reason; the error of the body
 */
export async function askServer(
  server: OperatorAccess,
  request: Omit<Request, 'hasBody'>,
  signal: AbortSignal,
  openBody: (() => Readable) | null = null,
): Promise<Answer | null> {
  signal.throwIfAborted();
  const socket = await connectTo(server.socket);
  if (socket === null) return null;
  const stop = () => socket.destroy();
  signal.addEventListener('abort', stop, { once: true });
  socket.on('close', () => signal.removeEventListener('abort', stop));
  const reader = new SocketReader(socket);
  try {
    const line: Request = { ...request, hasBody: openBody !== null };
    socket.write(`${server.secret} ${JSON.stringify(line)}\n`);
    const reply =
      openBody === null ? await readReplyLine(reader) : await sendAndRead(socket, reader, openBody(), signal);
    if ('error' in reply || !reply.hasBody) {
      socket.destroy();
      return { reply, body: null };
    }
    const body = streamOf(bodyOf(reader));
    body.once('close', stop);
    return { reply, body };
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    throw error;
  }
}

/** Send a body until the reply arrives, possibly before the end of the body. */
async function sendAndRead(socket: Socket, reader: SocketReader, body: Readable, signal: AbortSignal): Promise<Reply> {
  const answered = new AbortController();
  const sent = sendBody(socket, body, AbortSignal.any([signal, answered.signal]));
  // A broken connection also ends the reply, with a more helpful error.
  const broken = new Promise<never>((_, reject) => {
    sent.catch((error) => {
      if (!socket.destroyed && socket.errored === null) reject(error);
    });
  });
  try {
    return await Promise.race([readReplyLine(reader), broken]);
  } finally {
    answered.abort();
  }
}

/** Connect to a socket. Return null if nothing listens there, or if this user may not use it. */
function connectTo(path: string): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => resolve(socket));
    socket.on('error', () => resolve(null));
  });
}

async function readReplyLine(reader: SocketReader): Promise<Reply> {
  try {
    return JSON.parse(await reader.readLine(Number.POSITIVE_INFINITY));
  } catch (error) {
    throw stopped(
      'before it answered, so the operation may or may not be done; check its result before you repeat it',
      error,
    );
  }
}

async function* bodyOf(reader: SocketReader): AsyncGenerator<Buffer> {
  try {
    yield* reader.readBody();
  } catch (error) {
    throw stopped('before it sent all bytes; repeat the command', error);
  }
}

function stopped(when: string, cause: unknown): AppError {
  return new AppError({ code: 'server_stopped', status: 503, message: `the server stopped ${when}`, cause });
}
