import { createMcpHandler, isInitializeRequest, isLegacyRequest } from '@modelcontextprotocol/server';
import type { Logger } from '../../platform/logger.ts';
import type { Session } from '../create-server.ts';
import type { ToolServer } from '../tool-server.ts';
import { type AcceptedForms, BOTH_FORMS } from './accepted-forms.ts';
import type { Principal } from './authenticate.ts';
import type { HttpSession, HttpSessions } from './http-sessions.ts';

/** Protocol revision of clients that don't name theirs. */
const OLDER_REVISION = '2025-03-26';

/** Client of a message, and the response formats that it accepts. */
export interface HttpClient {
  readonly principal: Principal;
  readonly forms: AcceptedForms;
}

/** Handler of messages, for each protocol revision. */
export interface MessageHandler {
  /** @param whenDone registers a callback for when the response is complete or the client has disconnected */
  handle(request: Request, json: unknown, client: HttpClient, whenDone: (done: () => void) => void): Promise<Response>;
  /** Abort running calls of the newest revision. `HttpSessions` ends the sessions of the older one. */
  close(): Promise<void>;
}

export function openMessageHandler(context: {
  readonly tools: ToolServer;
  readonly sessions: HttpSessions;
  /** @param canAsk false for a client that can't receive questions */
  readonly sessionOf: (principal: () => Principal, resultsOf: string, canAsk: boolean) => Session;
  readonly logger: Logger;
  readonly bytesMax: number;
}): MessageHandler {
  const { tools, sessions, sessionOf, logger, bytesMax } = context;
  const modernHandler = (responseMode: 'auto' | 'json') =>
    createMcpHandler(
      ({ authInfo }) => {
        // This revision has no sessions. The token identifies the owner of results.
        const principal = authInfo?.extra?.['principal'] as Principal;
        return tools.serverFor(sessionOf(() => principal, `client:${principal.id}`, true));
      },
      {
        legacy: 'reject',
        responseMode,
        maxRequestBodySize: bytesMax,
        onerror: (err) => logger.debug({ err }, 'message refused'),
      },
    );
  const modern = modernHandler('auto');
  /** Handler for clients that don't accept streams. */
  const modernJson = modernHandler('json');

  async function handleSession(
    request: Request,
    json: unknown,
    client: HttpClient,
    whenDone: (done: () => void) => void,
  ): Promise<Response> {
    const { principal, forms } = client;
    const id = request.headers.get('mcp-session-id');
    const parsed = json === undefined ? {} : { parsedBody: json };
    // A restarting client may still send the id of an ended session.
    if (id !== null && !isInitializeRequest(json)) {
      const session = sessions.find(id, principal) ?? (await resume(id, request, client));
      // Send the same response for another client's session, so that its id reveals nothing.
      if (session === null) return refuse(404, -32001, 'the session is unknown or has ended; start a new one');
      whenDone(sessions.use(id));
      return session.transport.handleRequest(request, parsed);
    }
    if (!isInitializeRequest(json)) {
      return refuse(400, -32000, 'the header Mcp-Session-Id is missing; "initialize" starts a session');
    }
    const session = await sessions.open(principal, forms, serverOf);
    whenDone(sessions.use(session.id));
    const response = await session.transport.handleRequest(request, parsed);
    await sessions.settle(session);
    return response;
  }

  const serverOf = (session: Pick<HttpSession, 'id' | 'principal' | 'readsStreams'>) =>
    tools.serverFor(sessionOf(() => session.principal, `session:${session.id}`, session.readsStreams));

  /**
   * Reopen a session that began in another process, or before a restart. Its only state is the revision, so the server
   * initializes it in place of the client.
   */
  async function resume(id: string, request: Request, { principal, forms }: HttpClient): Promise<HttpSession | null> {
    if (request.method === 'DELETE' || !sessions.isElsewhere(id, principal)) return null;
    const session = await sessions.open(principal, forms, serverOf, id);
    const protocolVersion = request.headers.get('mcp-protocol-version') ?? OLDER_REVISION;
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'resumed', version: '0' } };
    const json = { jsonrpc: '2.0', id: `resume-${id}`, method: 'initialize', params };
    const headers = { 'Content-Type': 'application/json', Accept: BOTH_FORMS };
    const initialize = new Request(request.url, { method: 'POST', headers, body: JSON.stringify(json) });
    await (await session.transport.handleRequest(initialize, { parsedBody: json })).text();
    await sessions.settle(session);
    return session.transport.sessionId === undefined ? null : session;
  }

  return {
    async handle(request, json, client, whenDone) {
      if (await isLegacyRequest(request, json)) return handleSession(request, json, client, whenDone);
      const { principal, forms } = client;
      const authInfo = { token: '', clientId: principal.id, scopes: [], extra: { principal } };
      return (forms.stream ? modern : modernJson).fetch(request, { authInfo, parsedBody: json });
    },
    async close() {
      await Promise.all([modern.close(), modernJson.close()]);
    },
  };
}

function refuse(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}
