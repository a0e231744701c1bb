import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { ByteShares } from '../../platform/byte-shares.ts';
import { AppError } from '../../platform/errors.ts';
import type { Service } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/logger.ts';
import type { HttpToolServerSettings, ToolServerAuth } from '../../platform/tool-server-settings.ts';
import { CallerCheck } from '../caller-check.ts';
import type { Session } from '../create-server.ts';
import { openToolServer, type ToolServer } from '../tool-server.ts';
import { BOTH_FORMS, readAccept } from './accepted-forms.ts';
import { openAuthentication, type Principal, requireScope } from './authenticate.ts';
import { type AddressCheck, checkAddresses } from './check-addresses.ts';
import { openMessageHandler } from './handle-message.ts';
import { HttpSessions } from './http-sessions.ts';
import { readMessage } from './read-message.ts';
import { allowOrigin, refusalOf, sendJson, sendRefusal } from './replies.ts';
import { SignIn } from './sign-in.ts';
import { StalledReaders } from './stalled-readers.ts';

/** Modes in which each client has its own credential. */
const OWN_CREDENTIALS: ReadonlySet<string> = new Set(['upstream-bearer', 'oauth']);
const METHODS = new Set(['GET', 'POST', 'DELETE']);
const SERVER_OPTIONS = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  maxHeaderSize: 32 * 1024,
  requireHostHeader: true,
};
const STALLED_MS = 30_000;
/** Time for calls in progress to finish after a stop is requested. */
const GRACE_MS = 10_000;
/** Memory limit of all request bodies, as a multiple of the maximum body. */
const MESSAGES_AT_ONCE = 8;
/** Connections per session. A client may have an open stream in addition to its calls. */
const CONNECTIONS_PER_SESSION = 4;

export interface HttpToolService extends Service {
  /** Address of the endpoint, with its path. Known once the service has started. */
  readonly url: string;
  /** Current resource counts. */
  readonly held: { readonly sessions: number; readonly results: number; readonly messageBytes: number };
}

/** Create the tool server over Streamable HTTP at the path `/mcp`. */
export function httpToolService(
  settings: HttpToolServerSettings,
  logger: Logger,
  bounds: { readonly stalledMs?: number } = {},
): HttpToolService {
  // With one shared token, there are no other organizations.
  const shareOf = (all: number) => (OWN_CREDENTIALS.has(settings.auth.mode) ? Math.ceil(all / 2) : all);
  const tools = openToolServer(settings, logger, { callsOfOneMax: shareOf(settings.api.callsMax) });
  const callers = new CallerCheck((credential) => tools.apiOf(credential));
  const { sessionsMax: max, sessionIdleMs: idleMs } = settings;
  const sessions = new HttpSessions({ max, ofOneMax: shareOf(max), idleMs }, (id) =>
    tools.results.forget(`session:${id}`),
  );
  const messages = openMessageHandler({
    tools,
    sessions,
    logger,
    bytesMax: settings.messageBytesMax,
    sessionOf: sessionsOver(tools, settings.auth),
  });
  const bytesMax = settings.messageBytesMax * MESSAGES_AT_ONCE;
  const memory = new ByteShares({ bytesMax, bytesOfOneMax: () => shareOf(bytesMax) });
  const underWay = new Set<ServerResponse>();
  const address = () => settings.url ?? service.url;
  const signIn = settings.auth.mode === 'oauth' ? new SignIn(address, (signal) => tools.findIssuer(signal)) : null;
  const authenticate = openAuthentication(settings.auth, callers, address);
  const addresses = checkAddresses(settings);

  const refusals = () => ({ logger, metadataUrl: signIn?.metadataUrl ?? null });

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (isAnswered(req, res, addresses, sessions)) return;
    if (signIn !== null && (await signIn.answers(req, res))) return;
    requireEndpoint(req, res);
    const forms = readAccept(req.headers.accept);
    const left = abortedBy(res);
    const principal = await authenticate(req.headers.authorization, req.socket.remoteAddress ?? '', left);
    const isPost = req.method === 'POST';
    const { orgId } = principal;
    const message = isPost ? await readMessage(req, { bytesMax: settings.messageBytesMax, memory, orgId }) : null;
    res.once('close', () => message?.free());
    const json = withObjectArguments(message?.json);
    const tool = calledTool(json);
    if (tool !== null) requireScope(principal, tools.scopeOf(tool));
    if (isPost && !waitsForNews(json)) {
      underWay.add(res);
      res.once('close', () => underWay.delete(res));
    }
    const fetch = async (request: Request) => {
      try {
        const withBoth = new Request(request, { headers: [...request.headers, ['Accept', BOTH_FORMS]] });
        return await messages.handle(withBoth, json, { principal, forms }, (done) => res.once('close', done));
      } catch (error) {
        return refusalOf(error, refusals());
      }
    };
    const handler = toNodeHandler({ fetch }, { onerror: (err) => logger.error({ err }, 'request failed') });
    await handler(req as IncomingMessage & { method: string; url: string }, res, json);
  }

  const server = createServer(SERVER_OPTIONS, (req, res) => {
    answer(req, res).catch((error: unknown) => sendRefusal(res, error, refusals()));
  });
  server.maxConnections = settings.sessionsMax * CONNECTIONS_PER_SESSION + 100;
  const stalled = new StalledReaders(server, bounds.stalledMs ?? STALLED_MS);
  let url: string | null = null;

  const service: HttpToolService = {
    name: 'tool server',
    get url() {
      if (url === null) throw new Error('the tool server does not listen yet');
      return url;
    },
    get held() {
      return { sessions: sessions.size, results: tools.results.size, messageBytes: memory.bytes };
    },
    async start() {
      url = await listen(server, settings);
      logger.info({ url, auth: settings.auth.mode, api: settings.api.baseUrl }, 'tool server listens');
    },
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      sessions.closeStreams();
      await idleWithin(underWay, GRACE_MS);
      await messages.close();
      await sessions.endAll();
      server.closeAllConnections();
      if (server.listening || url !== null) await closed;
      stalled.stop();
      await tools.close();
    },
  };
  return service;
}

/** Create sessions of clients, with their rights, results and way of approval. */
function sessionsOver(tools: ToolServer, { mode }: ToolServerAuth) {
  // If people sign in, they decide on a console page, and a client's claim doesn't count.
  const way = mode === 'oauth' ? 'page' : 'form';
  return (principal: () => Principal, results: string, canAsk: boolean): Session => ({
    ownerId: principal().orgId,
    get api() {
      return tools.apiOf(principal().credential);
    },
    results: tools.results.of(results),
    approvals: canAsk ? way : null,
  });
}

/** Answer requests that aren't messages. @throws AppError for a refused address */
function isAnswered(
  req: IncomingMessage,
  res: ServerResponse,
  addresses: AddressCheck,
  sessions: { readonly size: number },
): boolean {
  const [path] = (req.url ?? '/').split('?');
  if (path === '/healthz') {
    sendJson(res, 200, { status: 'ok', sessions: sessions.size });
    return true;
  }
  addresses.require(req);
  if (allowOrigin(req, res)) return true;
  return false;
}

/** @throws AppError for a refused path or method */
function requireEndpoint(req: IncomingMessage, res: ServerResponse): void {
  const [path] = (req.url ?? '/').split('?');
  if (path !== '/mcp') throw new AppError({ code: 'path_unknown', status: 404, message: 'the endpoint is /mcp' });
  if (METHODS.has(req.method ?? '')) return;
  res.setHeader('Allow', 'GET, POST, DELETE');
  throw new AppError({ code: 'method_unknown', status: 405, message: 'the endpoint takes GET, POST and DELETE' });
}

/** Return a function that creates a signal that aborts when the client disconnects. */
function abortedBy(res: ServerResponse): () => AbortSignal {
  return () => {
    const controller = new AbortController();
    res.once('close', () => controller.abort());
    return controller.signal;
  };
}

/**
 * Convert tool arguments to an object: some clients and models send null or the object as JSON text. Treat other values
 * as missing, so that the tool explains in a sentence what it needs.
 */
function withObjectArguments(json: unknown): unknown {
  const { method, params } = (json ?? {}) as { method?: unknown; params?: { arguments?: unknown } | null };
  if (method !== 'tools/call' || params?.arguments === undefined || isRecord(params.arguments)) return json;
  return { ...(json as object), params: { ...params, arguments: recordOf(params.arguments) } };
}

function recordOf(given: unknown): Record<string, unknown> {
  if (typeof given !== 'string') return {};
  try {
    const parsed: unknown = JSON.parse(given);
    return isRecord(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Return the name of the tool that a message calls; null for any other message. */
function calledTool(json: unknown): string | null {
  const { method, params } = (json ?? {}) as { method?: unknown; params?: { name?: unknown } | null };
  return method === 'tools/call' && typeof params?.name === 'string' ? params.name : null;
}

/** Return true for a stream that never ends by itself; false for a call. */
function waitsForNews(json: unknown): boolean {
  return (json as { method?: unknown } | null)?.method === 'subscriptions/listen';
}

/** Wait until the set is empty, but at most `graceMs`. */
async function idleWithin(responses: ReadonlySet<ServerResponse>, graceMs: number): Promise<void> {
  const deadline = AbortSignal.timeout(graceMs);
  while (responses.size > 0 && !deadline.aborted) {
    const [response] = responses;
    if (response) await once(response, 'close', { signal: deadline }).catch(() => {});
  }
}

async function listen(server: Server, { host, port }: { readonly host: string; readonly port: number }) {
  server.listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'is already in use; choose another with --port' : `cannot be used (${code})`;
    const message = `${host} port ${port} ${why}`;
    throw new AppError({ code: 'cannot_listen', status: 500, message, cause: error });
  }
  const { port: actual } = server.address() as AddressInfo;
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${actual}/mcp`;
}
