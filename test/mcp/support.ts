import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { onTestFinished } from 'vitest';
import { type HttpToolService, httpToolService } from '../../src/mcp/http/http-service.ts';
import { type Logger, openLogger } from '../../src/platform/logger.ts';
import { loadHttpSettings } from '../../src/platform/tool-server-settings.ts';

export const SERVICE_MCP = new URL('../../bin/service-mcp.js', import.meta.url).pathname;
export const TOKEN = 'token-of-the-tests';

/** Revisions of the protocol that the tool server supports. */
export const REVISIONS = ['2026-07-28', '2025-11-25'] as const;
export type Revision = (typeof REVISIONS)[number];

/** Start a tool server on a free port in this process; it is stopped when the test ends. */
export async function startToolServer(
  env: Record<string, string>,
  options: { readonly logger?: Logger; readonly stalledMs?: number } = {},
): Promise<HttpToolService> {
  const service = await openToolServer(env, options);
  onTestFinished(() => service.stop());
  return service;
}

/** Start a tool server on a free port in this process; the caller stops it. */
export async function openToolServer(
  env: Record<string, string>,
  options: { readonly logger?: Logger; readonly stalledMs?: number } = {},
): Promise<HttpToolService> {
  const settings = loadHttpSettings({ env: { PORT: '0', SERVICE_MCP_BEARER_TOKEN: TOKEN, ...env } });
  const service = httpToolService(settings, options.logger ?? openLogger('error'), options);
  await service.start(new AbortController().signal);
  return service;
}

/** Connect the official client; it is closed when the test ends. */
export async function connectHttp(url: string, revision: Revision, bearer: string | null = TOKEN): Promise<Client> {
  const client = await openClient(httpTransport(url, bearer), revision);
  onTestFinished(() => client.close());
  return client;
}

export function httpTransport(url: string, bearer: string | null = TOKEN): StreamableHTTPClientTransport {
  const headers: Record<string, string> = bearer === null ? {} : { Authorization: `Bearer ${bearer}` };
  return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
}

/** Parameters of a tool server as a child process. */
export function stdioTransport(env: Record<string, string>): StdioClientTransport {
  const quiet = { PATH: process.env['PATH'] ?? '', SERVICE_LOG_LEVEL: 'silent' };
  return new StdioClientTransport({ command: process.execPath, args: [SERVICE_MCP], env: { ...quiet, ...env } });
}

/** Connect the official client; the caller closes it. */
export async function openClient(
  transport: StreamableHTTPClientTransport | StdioClientTransport,
  revision: Revision,
): Promise<Client> {
  const mode = revision === '2026-07-28' ? { pin: revision } : 'legacy';
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  return client;
}

/** Read the text of a tool's answer. */
export function textOf(result: { readonly content?: unknown }): string {
  const [first] = result.content as { type: string; text: string }[];
  return first?.text ?? '';
}

/** Send a message with the headers that the transport requires. */
export function post(
  url: string,
  body: unknown,
  { bearer = TOKEN, headers = {} }: { bearer?: string | null; headers?: Record<string, string> } = {},
): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...(bearer === null ? {} : { Authorization: `Bearer ${bearer}` }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
