import { homedir } from 'node:os';
import path from 'node:path';
import { invalidRequest } from '../../platform/errors.ts';

export const CLIENTS = ['claude', 'cursor', 'vscode', 'remote', 'chatgpt'] as const;
export type ClientName = (typeof CLIENTS)[number];

/** Values for a client's configuration. */
export interface InitRequest {
  readonly client: ClientName;
  readonly bucket: string;
  /** Address of an HTTP tool server; null if the client starts its own over stdio. */
  readonly serverUrl: string | null;
  /** True if people sign in to the tool server, so that its clients need no token. */
  readonly signIn: boolean;
  /** Name of the entry among the client's servers. */
  readonly name: string;
  readonly apiBaseUrl: string;
  /** Program that a client starts. */
  readonly command: string;
}

/** Machine that the configuration is for. */
export interface Host {
  readonly platform: NodeJS.Platform;
  readonly env: NodeJS.ProcessEnv;
  readonly folder: string;
}

type Entry = Readonly<Record<string, unknown>>;

/** Key of a client's file that holds its servers. */
export type Section = 'mcpServers' | 'servers';

export interface ClientConfiguration {
  /** Entry for the client's file, below `section`; null if the client has no such file. */
  readonly entry: Entry | null;
  readonly section: Section;
  /** File that the client reads; null if there is none, or if the user has to choose it. */
  readonly file: string | null;
  /** JSON for the client. */
  readonly document: unknown;
  readonly notes: readonly string[];
}

const KEY_PLACEHOLDER = '<API_KEY>';
const TOKEN_PLACEHOLDER = '<BEARER_TOKEN>';
/** Name under which Visual Studio Code asks for a secret. */
const SECRET_INPUT = 'service-secret';
const LOCAL_SERVER_URL = 'http://127.0.0.1:8787/mcp';

/**
 * Describe how to add the tool server to a client, in the exact format that the client reads.
 * @throws AppError 400 for a server address that the client can't use
 */
export function configureClient(request: InitRequest, host: Host): ClientConfiguration {
  switch (request.client) {
    case 'claude':
      return request.serverUrl === null ? claudeDesktop(request, host) : claudeCode(request, request.serverUrl, host);
    case 'cursor':
      return cursor(request, host);
    case 'vscode':
      return visualStudioCode(request, host);
    case 'remote':
      return remote(request);
    case 'chatgpt':
      return chatGpt(request);
  }
}

function claudeDesktop(request: InitRequest, host: Host): ClientConfiguration {
  const file = path.join(applicationData(host), 'Claude', 'claude_desktop_config.json');
  return inFile(request, file, stdioEntry(request, KEY_PLACEHOLDER), [
    `Claude Desktop reads ${file}; restart it after a change.`,
    'Claude Code reads the same JSON from .mcp.json in the folder of a project.',
  ]);
}

function claudeCode(request: InitRequest, serverUrl: string, host: Host): ClientConfiguration {
  const file = path.join(host.folder, '.mcp.json');
  if (request.signIn) {
    const url = endpointOf(serverUrl);
    return inFile(request, file, { type: 'http', url }, [
      `Claude Code reads ${file}; enter /mcp in a session, choose "${request.name}" and then Authenticate.`,
      `Claude on the web and the desktop: Settings > Connectors > Add custom connector, with the URL ${url}.`,
      bucketNote(request),
    ]);
  }
  // Claude Code expands environment variables in this file.
  const Authorization = `Bearer \${SERVICE_MCP_BEARER_TOKEN}`;
  const entry = { type: 'http', url: endpointOf(serverUrl), headers: { Authorization } };
  return inFile(request, file, entry, [
    `Claude Code reads ${file}, and takes the token from the variable SERVICE_MCP_BEARER_TOKEN.`,
    bucketNote(request),
  ]);
}

function cursor(request: InitRequest, host: Host): ClientConfiguration {
  const file = path.join(homeOf(host), '.cursor', 'mcp.json');
  const { serverUrl } = request;
  if (serverUrl === null) {
    return inFile(request, file, stdioEntry(request, `\${env:SERVICE_API_KEY}`), [
      `Cursor reads ${file}, and takes the key from the variable SERVICE_API_KEY of its environment.`,
    ]);
  }
  if (request.signIn) {
    return inFile(request, file, { url: endpointOf(serverUrl) }, [
      `Cursor reads ${file}; choose Connect beside "${request.name}" in its settings of MCP, and sign in.`,
      bucketNote(request),
    ]);
  }
  const Authorization = `Bearer \${env:SERVICE_MCP_BEARER_TOKEN}`;
  const entry = { url: endpointOf(serverUrl), headers: { Authorization } };
  return inFile(request, file, entry, [
    `Cursor reads ${file}, and takes the token from the variable SERVICE_MCP_BEARER_TOKEN of its environment.`,
    bucketNote(request),
  ]);
}

function visualStudioCode(request: InitRequest, host: Host): ClientConfiguration {
  const file = path.join(host.folder, '.vscode', 'mcp.json');
  const { serverUrl } = request;
  const start = `Visual Studio Code reads ${file}; choose Start above the entry "${request.name}"`;
  const secret = (description: string) => `\${input:${description}}`;
  if (serverUrl === null) {
    const entry = { type: 'stdio', ...stdioEntry(request, secret(SECRET_INPUT)) };
    return withInput(inFile(request, file, entry, [`${start}, and enter the API key.`], 'servers'), 'API key');
  }
  const url = endpointOf(serverUrl);
  if (request.signIn) {
    const notes = [`${start}, and sign in in the browser.`, bucketNote(request)];
    return inFile(request, file, { type: 'http', url }, notes, 'servers');
  }
  const entry = { type: 'http', url, headers: { Authorization: `Bearer ${secret(SECRET_INPUT)}` } };
  const notes = [`${start}, and enter the token of the tool server.`, bucketNote(request)];
  return withInput(inFile(request, file, entry, notes, 'servers'), 'token of the tool server');
}

/** Make Visual Studio Code prompt for a secret, which it then stores. */
function withInput(configuration: ClientConfiguration, description: string): ClientConfiguration {
  const inputs = [{ type: 'promptString', id: SECRET_INPUT, description, password: true }];
  const document = { ...(configuration.document as object), inputs };
  const note = `Add the part "inputs" of the printed JSON to the file, so that it asks for the secret.`;
  return { ...configuration, document, notes: [...configuration.notes, note] };
}

function remote(request: InitRequest): ClientConfiguration {
  const url = endpointOf(request.serverUrl ?? LOCAL_SERVER_URL);
  if (request.signIn) {
    const note = 'The client opens a browser, in which its person signs in and gives it access.';
    return inFile(request, null, { type: 'http', url }, [note, bucketNote(request)]);
  }
  const entry = { type: 'http', url, headers: { Authorization: `Bearer ${TOKEN_PLACEHOLDER}` } };
  return inFile(request, null, entry, [
    `Put the token of the tool server in place of ${TOKEN_PLACEHOLDER} ("service-mcp token" makes one).`,
    bucketNote(request),
  ]);
}

/** Describe the steps in ChatGPT's settings, and the JSON for OpenAI's Responses API. */
function chatGpt(request: InitRequest): ClientConfiguration {
  const { serverUrl } = request;
  if (serverUrl === null || !serverUrl.startsWith('https://')) {
    throw invalidRequest(
      '--server-url: ChatGPT reaches tool servers over the internet; give the https address of yours',
      'server-url',
    );
  }
  const url = endpointOf(serverUrl);
  const document = {
    type: 'mcp',
    server_label: request.name,
    server_url: url,
    authorization: TOKEN_PLACEHOLDER,
    allowed_tools: ['search', 'fetch'],
    require_approval: 'never',
  };
  const steps = request.signIn
    ? `In ChatGPT itself: Settings > Apps > Advanced settings, switch Developer mode on; then Create app, with the name "${request.name}", the MCP server URL ${url} and the authentication OAuth.`
    : 'ChatGPT itself can only sign in by OAuth: start the tool server with SERVICE_MCP_AUTH_MODE=oauth, and add --sign-in here.';
  const notes = ['This is an entry of "tools" for the Responses API.', steps, bucketNote(request)];
  return { entry: null, section: 'mcpServers', file: null, document, notes };
}

function inFile(
  { name }: InitRequest,
  file: string | null,
  entry: Entry,
  notes: readonly string[],
  section: Section = 'mcpServers',
): ClientConfiguration {
  return { entry, section, file, document: { [section]: { [name]: entry } }, notes };
}

function stdioEntry({ command, apiBaseUrl, bucket }: InitRequest, apiKey: string): Entry {
  const env = { SERVICE_API_BASE_URL: apiBaseUrl, SERVICE_API_KEY: apiKey, SERVICE_DEFAULT_BUCKET: bucket };
  return { command, args: [], env };
}

function bucketNote({ bucket }: InitRequest): string {
  return `The bucket is a setting of the tool server: start it with SERVICE_DEFAULT_BUCKET=${bucket}.`;
}

function endpointOf(serverUrl: string): string {
  if (!URL.canParse(serverUrl) || !/^https?:$/.test(new URL(serverUrl).protocol)) {
    throw invalidRequest(`--server-url: "${serverUrl}" is not an http or https address`, 'server-url');
  }
  const url = new URL(serverUrl);
  if (url.username !== '' || url.password !== '') {
    throw invalidRequest('--server-url: must not have credentials in it', 'server-url');
  }
  if (url.pathname === '/') url.pathname = '/mcp';
  return url.href;
}

function applicationData(host: Host): string {
  const home = homeOf(host);
  if (host.platform === 'darwin') return path.join(home, 'Library', 'Application Support');
  if (host.platform === 'win32') return host.env['APPDATA'] || path.join(home, 'AppData', 'Roaming');
  return host.env['XDG_CONFIG_HOME'] || path.join(home, '.config');
}

function homeOf({ env }: Host): string {
  return env['HOME'] || homedir();
}

/** Insert the API key from the environment into an entry. */
export function withKey(entry: Entry, apiKey: string | null): Entry {
  const { env } = entry as { readonly env?: Readonly<Record<string, string>> };
  if (env?.['SERVICE_API_KEY'] !== KEY_PLACEHOLDER || apiKey === null) return entry;
  return { ...entry, env: { ...env, SERVICE_API_KEY: apiKey } };
}

/** Return true if a value is a placeholder that the user has to replace. */
export function isPlaceholder(value: unknown): boolean {
  return value === KEY_PLACEHOLDER;
}
