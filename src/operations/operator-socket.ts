import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Appliance } from '../appliance/appliance.ts';
import { digestSettings, type OperatorAccess, serversFolder } from '../appliance/server-record.ts';
import { processEnvironment } from '../platform/environment.ts';
import { AppError, invalidRequest } from '../platform/errors.ts';
import { VERSION } from '../platform/version.ts';
import { runOperation } from './run-operation.ts';
import { isSecret, OTHER_VERSION, type Reply, type Request, renderFailure } from './wire.ts';

const SECRET_BYTES = 32;
const CONNECTIONS_MAX = 64;
/** Bound of a request: the largest body of the API is one of 64 MiB. */
const REQUEST_BYTES_MAX = 128 * 1024 * 1024;
/** Time in which a request must have arrived. */
const REQUEST_MS_MAX = 60_000;
/** Length of the path of a socket that every platform accepts. */
const SOCKET_PATH_BYTES_MAX = 100;

/** Socket at which a server runs operations for the operator. */
export interface OperatorSocket {
  readonly access: OperatorAccess;
  /** Stop listening, let the operations in progress finish, and abort them when `signal` is aborted. */
  close(signal: AbortSignal): Promise<void>;
}

/**
 * Listen for commands of the operator at a socket in the data directory, which only its owner can enter. A command must
 * also know the secret of the record that the server writes there.
 */
export async function openOperatorSocket(appliance: Appliance): Promise<OperatorSocket> {
  const { dataDir } = appliance.config;
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const done = serveCommand(appliance, socket, secret, stopping.signal).finally(() => running.delete(done));
    running.add(done);
  });
  server.maxConnections = CONNECTIONS_MAX;
  const place = await listen(server, dataDir);
  server.on('error', (error) => appliance.logger.warn({ err: error }, 'the socket for commands failed'));
  return {
    access: {
      ...{ socket: place.file, secret, version: VERSION },
      settings: digestSettings(secret, processEnvironment(), dataDir),
    },
    async close(signal) {
      server.close();
      const abort = () => stopping.abort(new AppError({ code: 'server_stopped', status: 503, message: 'stopping' }));
      signal.addEventListener('abort', abort, { once: true });
      if (signal.aborted) abort();
      await Promise.allSettled(running);
      signal.removeEventListener('abort', abort);
      if (place.folder !== null) await rm(place.folder, { recursive: true, force: true });
    },
  };
}

interface Place {
  readonly file: string;
  /** Folder that was made for the socket alone. */
  readonly folder: string | null;
}

/**
 * Listen in the data directory, or in a new private folder if that path is too long or its file system has no sockets.
 */
async function listen(server: Server, dataDir: string): Promise<Place> {
  const folder = serversFolder(dataDir);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const name = `${process.pid}-${randomBytes(3).toString('hex')}.sock`;
  const file = path.join(folder, name);
  if (Buffer.byteLength(file) <= SOCKET_PATH_BYTES_MAX && (await listenAt(server, file))) return { file, folder: null };
  const other = await mkdtemp(path.join(tmpdir(), 'service-'));
  const place = { file: path.join(other, name), folder: other };
  if (await listenAt(server, place.file)) return place;
  await rm(other, { recursive: true });
  throw new AppError({ code: 'cannot_listen', status: 500, message: `cannot listen at a socket in ${folder}` });
}

/** Return false if the server cannot listen there. */
async function listenAt(server: Server, file: string): Promise<boolean> {
  const outcome = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(file, () => resolve(true));
  });
  server.removeAllListeners('error');
  if (outcome) await chmod(file, 0o600);
  return outcome;
}

/** Read one request, run its operation, and send the reply. The operation is aborted when the command leaves. */
async function serveCommand(
  appliance: Appliance,
  socket: Socket,
  secret: string,
  stopping: AbortSignal,
): Promise<void> {
  const left = new AbortController();
  const leave = () => left.abort(new AppError({ code: 'interrupted', status: 499, message: 'the command left' }));
  socket.on('error', leave);
  socket.on('close', leave);
  socket.setTimeout(REQUEST_MS_MAX, () => socket.destroy());
  try {
    const line = await readRequest(socket, secret);
    socket.setTimeout(0);
    socket.on('end', leave);
    const reply = await replyTo(appliance, line, AbortSignal.any([left.signal, stopping]));
    socket.end(`${JSON.stringify(reply)}\n`);
  } catch {
    // A client without the secret learns nothing, and one that left is not there to be told.
    socket.destroy();
  }
}

async function replyTo(appliance: Appliance, line: string, signal: AbortSignal): Promise<Reply> {
  try {
    const { version, operation, input, org, osUser } = JSON.parse(line) as Request;
    if (version !== VERSION) throw invalidRequest('the server has another version', 'version', OTHER_VERSION);
    return { result: await runOperation({ appliance, org, osUser, signal }, operation, input) };
  } catch (error) {
    if (!(error instanceof AppError)) appliance.logger.error({ err: error }, 'an operation of a command failed');
    return renderFailure(error);
  }
}

/** Read the secret and one line. @throws if the secret is wrong, the line is too long, or the client leaves */
function readRequest(socket: Socket, secret: string): Promise<string> {
  const prefix = Buffer.byteLength(secret) + 1;
  return new Promise((resolve, reject) => {
    let parts: Buffer[] = [];
    let bytes = 0;
    let isKnown = false;
    const onData = (part: Buffer) => {
      parts.push(part);
      bytes += part.length;
      if (!isKnown && bytes >= prefix) {
        const all = Buffer.concat(parts);
        isKnown = isSecret(all.subarray(0, prefix - 1), secret);
        if (!isKnown) return reject(new Error('the secret is wrong'));
        parts = [all];
      }
      if (bytes > REQUEST_BYTES_MAX) return reject(new Error('the request is too long'));
      if (!isKnown || part.at(-1) !== 0x0a) return;
      socket.off('data', onData);
      socket.resume();
      resolve(Buffer.concat(parts).subarray(prefix).toString());
    };
    socket.on('data', onData);
    socket.once('close', () => reject(new Error('the command left')));
    socket.once('end', () => reject(new Error('the command left')));
  });
}
