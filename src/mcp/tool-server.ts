import { RestClient } from '../client/rest-client.ts';
import { findIssuer, ServiceApi } from '../client/service-api.ts';
import type { Logger } from '../platform/logger.ts';
import type { Secret } from '../platform/secret.ts';
import type { ToolServerSettings } from '../platform/tool-server-settings.ts';
import { chooseTools } from './api-routes.ts';
import { createServer, limitCalls, type Session } from './create-server.ts';
import { ResultCache } from './session-results.ts';
import type { Tool } from './tool.ts';
import { askTools } from './tools/ask.ts';
import { chatGptTools } from './tools/chatgpt.ts';
import { findTools } from './tools/find-in-document.ts';
import { listTools } from './tools/lists.ts';
import { memoryTools } from './tools/memory.ts';
import { readTools } from './tools/read-document.ts';
import { searchTools } from './tools/search.ts';
import { uploadTools } from './tools/upload.ts';
import { workflowTools } from './tools/workflows.ts';

/** Parts shared by stdio and HTTP: the tools, the API connection, and session results. */
export interface ToolServer {
  readonly results: ResultCache;
  /** Ask the API for its address as an authorization server. */
  findIssuer(signal: AbortSignal): Promise<string>;
  /** Return the right that a tool requires. */
  scopeOf(tool: string): string;
  /** Create a client of the API with the rights of a credential. */
  apiOf(credential: Secret): ServiceApi;
  /** Create an SDK server for a session, with the tools whose API routes exist. */
  serverFor(session: Session): Promise<ReturnType<typeof createServer>>;
  close(): Promise<void>;
}

/** @param limits.callsOfOneMax maximum concurrent calls of one organization; by default all */
export function openToolServer(
  settings: ToolServerSettings,
  logger: Logger,
  limits: { readonly callsOfOneMax?: number } = {},
): ToolServer {
  const { baseUrl, callsMax } = settings.api;
  // Besides the tools' own calls, the server checks callers and requests routes.
  const client = new RestClient(baseUrl, { connectionsMax: callsMax + 8 });
  const all = allTools(settings);
  const choice = chooseTools(all, client, logger);
  const limit = limitCalls(callsMax, limits.callsOfOneMax ?? callsMax);
  return {
    results: new ResultCache(),
    findIssuer: (signal) => findIssuer(client, signal),
    scopeOf: (name) => all.find((tool) => tool.name === name)?.scope ?? 'search',
    apiOf: (credential) => new ServiceApi(client, credential),
    serverFor: async (session) => createServer(await choice.offered(), session, { limit, logger }),
    close: () => client.close(),
  };
}

function allTools(settings: ToolServerSettings): readonly Tool[] {
  return [
    ...chatGptTools(settings),
    ...searchTools(settings),
    ...askTools(settings),
    ...readTools(),
    ...findTools(),
    ...memoryTools(settings),
    ...uploadTools(settings),
    ...workflowTools(),
    ...listTools(),
  ];
}
