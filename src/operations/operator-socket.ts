import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Appliance } from '../appliance/appliance.ts';
import { digestSettings, type OperatorAccess, serversFolder } from '../appliance/server-record.ts';
import { processEnvironment } from '../platform/environment.ts';
import { AppError, invalidRequest } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import { VERSION } from '../platform/version.ts';
import { SocketReader, sendBody, streamOf } from './byte-stream.ts';
import type { OperationContext } from './operation.ts';
import { type Outcome, runOperation } from './run-operation.ts';
import { isSecret, OTHER_VERSION, type Reply, type Request, renderFailure } from './wire.ts';

const SECRET_BYTES = 32;
const CONNECTIONS_MAX = 64;
/** Maximum size of a request. The largest body of the API is 64 MiB. */
const REQUEST_BYTES_MAX = 128 * 1024 * 1024;
/** Time limit for receiving a request. */
const REQUEST_MS_MAX = 60_000;
/** Maximum path length of a socket that every platform accepts. */
const SOCKET_PATH_BYTES_MAX = 100;

/** Socket at which a server runs operations for the operator. */
export interface OperatorSocket {
  readonly access: OperatorAccess;
  /** Stop listening, and let running operations finish. Abort them when `signal` aborts. */
  close(signal: AbortSignal): Promise<void>;
}

/**
 * Listen for the operator's commands on a socket in the data directory, which only its owner can access. A command must
 * also know the secret that the server writes there.
 */
export async function openOperatorSocket(appliance: Appliance): Promise<OperatorSocket> {
  const { dataDir } = appliance.config;
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const closing = new AbortController();
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const done = serveCommand(appliance, socket, secret, {
      closing: closing.signal,
      stopping: stopping.signal,
    }).finally(() => running.delete(done));
    running.add(done);
  });
  server.maxConnections = CONNECTIONS_MAX;
  const place = await listen(server, dataDir);
  server.on('error', (error) => appliance.logger.warn({ err: error }, 'the socket for commands failed'));
  return {
    access: {
      socket: place.file,
      secret,
      version: VERSION,
      settings: digestSettings(secret, processEnvironment(), dataDir),
    },
    async close(signal) {
      server.close();
      closing.abort(new AppError({ code: 'server_stopped', status: 503, message: 'the server stops' }));
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
  /** Folder created only for the socket. */
  readonly folder: string | null;
}

/**
 * Listen in the data directory. If that path is too long or its file system has no sockets, use a new private folder.
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

/** Listen on a socket. Return false if that isn't possible there. */
async function listenAt(server: Server, file: string): Promise<boolean> {
  const outcome = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(file, () => resolve(true));
  });
  server.removeAllListeners('error');
  if (outcome) await chmod(file, 0o600);
  return outcome;
}

/** Read one request, run its operation, and send the reply. Abort the operation when the command disconnects. */
async function serveCommand(
  appliance: Appliance,
  socket: Socket,
  secret: string,
  { closing, stopping }: { readonly closing: AbortSignal; readonly stopping: AbortSignal },
): Promise<void> {
  const left = new AbortController();
  const leave = () => left.abort(new AppError({ code: 'interrupted', status: 499, message: 'the command left' }));
  socket.on('error', leave);
  socket.on('close', leave);
  socket.setTimeout(REQUEST_MS_MAX, () => socket.destroy());
  const reader = new SocketReader(socket);
  try {
    const given = await reader.readBytes(Buffer.byteLength(secret) + 1);
    if (!isSecret(given.subarray(0, -1), secret)) throw new Error('the secret is wrong');
    const request = JSON.parse(await reader.readLine(REQUEST_BYTES_MAX)) as Request;
    socket.setTimeout(0);
    const body = request.hasBody ? streamOf(reader.readBody()) : null;
    const untilLeft = () => void reader.untilEnd().then(leave, leave);
    if (body === null) untilLeft();
    else body.once('close', untilLeft);
    const signal = AbortSignal.any([left.signal, stopping]);
    const outcome = await outcomeOf(
      request,
      { logger: appliance.logger, left: left.signal },
      { signal, closing, body, installation: { open: async () => appliance } },
    );
    body?.destroy();
    const reply: Reply = 'error' in outcome ? outcome : { result: outcome.result, hasBody: outcome.body !== null };
    const line = `${JSON.stringify(reply)}\n`;
    if ('error' in outcome || outcome.body === null) return void socket.end(line);
    socket.write(line);
    await sendBody(socket, outcome.body, signal);
    socket.end();
  } catch {
    // A client without the secret learns nothing. A client that has received part of a body notices that the end is
    // missing.
    socket.destroy();
  }
}

async function outcomeOf(
  { version, operation, input, org, osUser }: Request,
  { logger, left }: { readonly logger: Logger; readonly left: AbortSignal },
  context: Omit<OperationContext, 'org' | 'osUser'>,
): Promise<Outcome | ReturnType<typeof renderFailure>> {
  try {
    if (version !== VERSION) throw invalidRequest('the server has another version', 'version', OTHER_VERSION);
    return await runOperation({ ...context, org, osUser }, operation, input);
  } catch (error) {
    // An aborted operation isn't an error.
    if (!(error instanceof AppError) && !left.aborted) logger.error({ err: error }, 'an operation of a command failed');
    return renderFailure(error);
  }
}
