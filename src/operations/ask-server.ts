import { connect, type Socket } from 'node:net';
import { digestSettings, hasSettingsOf, type OperatorAccess, readOperatorAccess } from '../appliance/server-record.ts';
import { AppError } from '../platform/errors.ts';
import type { Reply, Request } from './wire.ts';

/**
 * List the servers of a data directory that a command may ask: they have the version and the settings of the command.
 * Those that were killed may be among them.
 */
export function findServers(dataDir: string, env: NodeJS.ProcessEnv, version: string): OperatorAccess[] {
  return readOperatorAccess(dataDir).filter(
    (server) =>
      server.version === version && hasSettingsOf(server.settings, digestSettings(server.secret, env, dataDir)),
  );
}

/**
 * Send a request to a running server and wait for the reply.
 *
 * @returns null if the server does not run any more; nothing was sent then
 * @throws AppError `server_stopped` (503) if it stopped before it replied; the signal's reason
 */
export async function askServer(server: OperatorAccess, request: Request, signal: AbortSignal): Promise<Reply | null> {
  signal.throwIfAborted();
  const socket = await connectTo(server.socket);
  if (socket === null) return null;
  const stop = () => socket.destroy();
  signal.addEventListener('abort', stop, { once: true });
  try {
    socket.write(`${server.secret} ${JSON.stringify(request)}\n`);
    return await readLine(socket);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    socket.destroy();
  }
}

/** Connect to a socket; null if nothing listens there, or if this user may not use it. */
function connectTo(path: string): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => resolve(socket));
    socket.once('error', () => resolve(null));
  });
}

function readLine(socket: Socket): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    const gone = (cause?: unknown) =>
      reject(
        new AppError({
          code: 'server_stopped',
          status: 503,
          message: 'the server stopped before it answered, so the operation may be done or not; look, and repeat it',
          cause,
        }),
      );
    socket.on('data', (part: Buffer) => {
      parts.push(part);
      if (part.at(-1) === 0x0a) resolve(JSON.parse(Buffer.concat(parts).toString()));
    });
    socket.on('error', gone);
    socket.on('close', () => gone());
  });
}
