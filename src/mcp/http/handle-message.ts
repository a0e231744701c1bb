import { createMcpHandler, isInitializeRequest, isLegacyRequest } from '@modelcontextprotocol/server';
import type { Logger } from '../../platform/logger.ts';
import type { Session } from '../create-server.ts';
import type { ToolServer } from '../tool-server.ts';
import type { Principal } from './authenticate.ts';
import type { HttpSessions } from './http-sessions.ts';

/** Handler of messages, in the revision of the protocol that the client uses. */
export interface MessageHandler {
  /** @param onDone called when the answer is complete, or the client has disconnected */
  handle(
    request: Request,
    json: unknown,
    principal: Principal,
    whenDone: (done: () => void) => void,
  ): Promise<Response>;
  /** Abort the calls in progress of the newest revision. `HttpSessions` ends the sessions of the older one. */
  close(): Promise<void>;
}

export function openMessageHandler(context: {
  readonly tools: ToolServer;
  readonly sessions: HttpSessions;
  readonly sessionOf: (principal: Principal, resultsOf: string) => Session;
  readonly logger: Logger;
  readonly bytesMax: number;
}): MessageHandler {
  const { tools, sessions, sessionOf, logger, bytesMax } = context;
  const modern = createMcpHandler(
    ({ authInfo }) => {
      // This revision has no sessions. Results belong to the client by its token.
      const principal = authInfo?.extra?.['principal'] as Principal;
      return tools.serverFor(sessionOf(principal, `client:${principal.id}`));
    },
    { legacy: 'reject', maxRequestBodySize: bytesMax, onerror: (err) => logger.debug({ err }, 'message refused') },
  );

  async function handleSession(
    request: Request,
    json: unknown,
    principal: Principal,
    whenDone: (done: () => void) => void,
  ): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    const parsed = json === undefined ? {} : { parsedBody: json };
    if (id !== null) {
      const session = sessions.find(id, principal);
      // Answer the same for a session of another client, so that its id reveals nothing.
      if (session === null) return refuse(404, -32001, 'the session is unknown or has ended; start a new one');
      whenDone(sessions.use(id));
      return session.transport.handleRequest(request, parsed);
    }
    if (!isInitializeRequest(json)) {
      return refuse(400, -32000, 'the header Mcp-Session-Id is missing; "initialize" starts a session');
    }
    const session = await sessions.open(principal, (sessionId) =>
      tools.serverFor(sessionOf(principal, `session:${sessionId}`)),
    );
    whenDone(sessions.use(session.id));
    const response = await session.transport.handleRequest(request, parsed);
    await sessions.settle(session);
    return response;
  }

  return {
    async handle(request, json, principal, whenDone) {
      if (await isLegacyRequest(request, json)) return handleSession(request, json, principal, whenDone);
      const authInfo = { token: '', clientId: principal.id, scopes: [], extra: { principal } };
      return modern.fetch(request, { authInfo, parsedBody: json });
    },
    close: () => modern.close(),
  };
}

function refuse(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}
