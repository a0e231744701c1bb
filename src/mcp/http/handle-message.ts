import { createMcpHandler, isInitializeRequest, isLegacyRequest } from '@modelcontextprotocol/server';
import type { Logger } from '../../platform/logger.ts';
import type { Session } from '../create-server.ts';
import type { ToolServer } from '../tool-server.ts';
import type { AcceptedForms } from './accepted-forms.ts';
import type { Principal } from './authenticate.ts';
import type { HttpSessions } from './http-sessions.ts';

/** Client of a message, and the forms of an answer that it reads. */
export interface HttpClient {
  readonly principal: Principal;
  readonly forms: AcceptedForms;
}

/** Handler of messages, in the revision of the protocol that the client uses. */
export interface MessageHandler {
  /** @param onDone called when the answer is complete, or the client has disconnected */
  handle(request: Request, json: unknown, client: HttpClient, whenDone: (done: () => void) => void): Promise<Response>;
  /** Abort the calls in progress of the newest revision. `HttpSessions` ends the sessions of the older one. */
  close(): Promise<void>;
}

export function openMessageHandler(context: {
  readonly tools: ToolServer;
  readonly sessions: HttpSessions;
  readonly sessionOf: (principal: () => Principal, resultsOf: string) => Session;
  readonly logger: Logger;
  readonly bytesMax: number;
}): MessageHandler {
  const { tools, sessions, sessionOf, logger, bytesMax } = context;
  const modernHandler = (responseMode: 'auto' | 'json') =>
    createMcpHandler(
      ({ authInfo }) => {
        // This revision has no sessions. Results belong to the client by its token.
        const principal = authInfo?.extra?.['principal'] as Principal;
        return tools.serverFor(sessionOf(() => principal, `client:${principal.id}`));
      },
      {
        legacy: 'reject',
        responseMode,
        maxRequestBodySize: bytesMax,
        onerror: (err) => logger.debug({ err }, 'message refused'),
      },
    );
  const modern = modernHandler('auto');
  /** Handler for clients that read no streams. */
  const modernJson = modernHandler('json');

  async function handleSession(
    request: Request,
    json: unknown,
    { principal, forms }: HttpClient,
    whenDone: (done: () => void) => void,
  ): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    const parsed = json === undefined ? {} : { parsedBody: json };
    // A client that starts anew may still send the id of a session that has ended.
    if (id !== null && !isInitializeRequest(json)) {
      const session = sessions.find(id, principal);
      // Answer the same for a session of another client, so that its id reveals nothing.
      if (session === null) return refuse(404, -32001, 'the session is unknown or has ended; start a new one');
      whenDone(sessions.use(id));
      return session.transport.handleRequest(request, parsed);
    }
    if (!isInitializeRequest(json)) {
      return refuse(400, -32000, 'the header Mcp-Session-Id is missing; "initialize" starts a session');
    }
    const session = await sessions.open(principal, forms, (opened) =>
      tools.serverFor(sessionOf(() => opened.principal, `session:${opened.id}`)),
    );
    whenDone(sessions.use(session.id));
    const response = await session.transport.handleRequest(request, parsed);
    await sessions.settle(session);
    return response;
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
