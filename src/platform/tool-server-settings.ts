import { z } from 'zod';
import { processEnvironment } from './environment.ts';
import { invalidSettings } from './errors.ts';
import { isLoopbackHost } from './networks.ts';
import { Secret } from './secret.ts';

const MIB = 1024 * 1024;

const secret = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
  .transform((value) => new Secret(value));

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== ''),
);

const port = z.coerce.number().int().min(0).max(65535);
const count = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

/** Environment of the tool server. Empty variables count as unset. */
const Environment = z.object({
  SERVICE_API_KEY: secret.optional(),
  SERVICE_API_BASE_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .refine((url) => !/[?#]|:\/\/[^/]*@/.test(url), 'must have no query, no fragment and no credentials')
    .default('http://127.0.0.1:8080'),
  SERVICE_USER_ID: z.string().max(128).optional(),
  SERVICE_DEFAULT_BUCKET: z.string().min(1).max(128).default('default'),
  SERVICE_MEMORY_BUCKETS: list.optional(),
  SERVICE_MCP_AUTH_MODE: z.enum(['static', 'upstream-bearer', 'oauth']).default('static'),
  SERVICE_MCP_URL: z
    .url({
      protocol: /^https?$/,
      error: 'must be the http or https URL of this tool server, such as https://mcp.example.com/mcp',
    })
    .optional(),
  SERVICE_MCP_BEARER_TOKEN: secret.optional(),
  SERVICE_MCP_ALLOW_UNAUTHENTICATED: z.string().optional(),
  PORT: port.optional(),
  SERVICE_MCP_PORT: port.optional(),
  SERVICE_MCP_HOST: z.string().min(1).default('127.0.0.1'),
  SERVICE_MCP_ALLOWED_HOSTS: list.default([]),
  SERVICE_MCP_ALLOWED_ORIGINS: list.default([]),
  SERVICE_MCP_BODY_BYTES: count(1024, 512 * MIB).default(16 * MIB),
  SERVICE_MCP_SESSIONS_MAX: count(1, 100_000).default(1000),
  SERVICE_MCP_SESSION_IDLE_SECONDS: count(1, 86_400).default(1800),
  SERVICE_MCP_CALLS_MAX: count(1, 1000).default(64),
  SERVICE_LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
});

const DEFAULT_PORT = 8787;

/**
 * Authentication of HTTP clients: one shared token, each client's own API key, an access token that a person consented
 * to, or none.
 */
export type ToolServerAuth =
  | { readonly mode: 'static'; readonly token: Secret; readonly apiKey: Secret }
  | { readonly mode: 'upstream-bearer' }
  | { readonly mode: 'oauth' }
  | { readonly mode: 'unauthenticated'; readonly apiKey: Secret };

/** Settings that stdio and HTTP share. */
export interface ToolServerSettings {
  readonly api: { readonly baseUrl: string; readonly callsMax: number };
  readonly apiKey: Secret | null;
  readonly userId: string | null;
  readonly defaultBucket: string;
  /** Buckets that memory searches are limited to; null for those of the caller's own sources. */
  readonly memoryBuckets: readonly string[] | null;
  /** True if people sign in to the tool server (mode `oauth`). */
  readonly signIn: boolean;
  readonly messageBytesMax: number;
  readonly logLevel: string;
}

export interface HttpToolServerSettings extends ToolServerSettings {
  readonly auth: ToolServerAuth;
  /** Address as clients see it; null for the one that it listens on. */
  readonly url: string | null;
  readonly host: string;
  readonly port: number;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly sessionsMax: number;
  readonly sessionIdleMs: number;
}

/** Command-line flags. They override the environment. */
export interface ToolServerFlags {
  readonly host?: string | undefined;
  readonly port?: string | undefined;
}

interface LoadOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly flags?: ToolServerFlags;
}

/**
 * Read the settings that don't depend on the transport. Accept a missing API key.
 * @throws AppError `config_invalid` with one line per fault; values never appear in it
 */
export function loadToolServerSettings(options: LoadOptions = {}): ToolServerSettings {
  return commonSettings(readEnvironment(options));
}

/**
 * Read the settings of the stdio server. Its only caller is the owner of the key.
 * @throws AppError `config_invalid`
 */
export function loadStdioSettings(options: LoadOptions = {}): ToolServerSettings & { readonly apiKey: Secret } {
  const settings = loadToolServerSettings(options);
  if (settings.apiKey !== null) return { ...settings, apiKey: settings.apiKey };
  throw invalidSettings([
    'SERVICE_API_KEY: is not set; create a key with "service keys create", and put it into the configuration of the client',
  ]);
}

/**
 * Read the settings of the HTTP server.
 * @throws AppError `config_invalid`, including for a server that others could reach without authentication
 */
export function loadHttpSettings(options: LoadOptions = {}): HttpToolServerSettings {
  const env = readEnvironment(options);
  const settings = {
    ...commonSettings(env),
    url: env.SERVICE_MCP_URL ?? null,
    host: env.SERVICE_MCP_HOST,
    port: env.PORT ?? env.SERVICE_MCP_PORT ?? DEFAULT_PORT,
    allowedHosts: [...env.SERVICE_MCP_ALLOWED_HOSTS, ...hostOf(env.SERVICE_MCP_URL)],
    allowedOrigins: env.SERVICE_MCP_ALLOWED_ORIGINS,
    sessionsMax: env.SERVICE_MCP_SESSIONS_MAX,
    sessionIdleMs: env.SERVICE_MCP_SESSION_IDLE_SECONDS * 1000,
  };
  return { ...settings, auth: authOf(env) };
}

type Env = z.output<typeof Environment>;

function authOf(env: Env): ToolServerAuth {
  if (env.SERVICE_MCP_AUTH_MODE !== 'static') return { mode: env.SERVICE_MCP_AUTH_MODE };
  const faults: string[] = [];
  const isOpen = env.SERVICE_MCP_ALLOW_UNAUTHENTICATED === '1';
  const token = env.SERVICE_MCP_BEARER_TOKEN;
  const apiKey = env.SERVICE_API_KEY;
  if (apiKey === undefined) {
    faults.push(
      'SERVICE_API_KEY: is not set; create a key with "service keys create", or set SERVICE_MCP_AUTH_MODE=oauth to have people sign in, or upstream-bearer to have every client send its own key',
    );
  }
  if (isOpen && !isLoopbackHost(env.SERVICE_MCP_HOST)) {
    faults.push(
      `SERVICE_MCP_ALLOW_UNAUTHENTICATED: works on a loopback address only, and SERVICE_MCP_HOST is ${env.SERVICE_MCP_HOST}; set SERVICE_MCP_BEARER_TOKEN instead`,
    );
  }
  if (!isOpen && token === undefined) {
    faults.push(
      'SERVICE_MCP_BEARER_TOKEN: is not set; make one with "service-mcp token" (for tests on this machine, SERVICE_MCP_ALLOW_UNAUTHENTICATED=1 does without)',
    );
  }
  if (faults.length > 0 || apiKey === undefined) throw invalidSettings(faults);
  return isOpen || token === undefined ? { mode: 'unauthenticated', apiKey } : { mode: 'static', token, apiKey };
}

function hostOf(url: string | undefined): string[] {
  return url === undefined ? [] : [new URL(url).hostname];
}

function commonSettings(env: Env): ToolServerSettings {
  return {
    api: { baseUrl: env.SERVICE_API_BASE_URL.replace(/\/+$/, ''), callsMax: env.SERVICE_MCP_CALLS_MAX },
    apiKey: env.SERVICE_API_KEY ?? null,
    userId: env.SERVICE_USER_ID ?? null,
    defaultBucket: env.SERVICE_DEFAULT_BUCKET,
    memoryBuckets: env.SERVICE_MEMORY_BUCKETS?.length ? env.SERVICE_MEMORY_BUCKETS : null,
    signIn: env.SERVICE_MCP_AUTH_MODE === 'oauth',
    messageBytesMax: env.SERVICE_MCP_BODY_BYTES,
    logLevel: env.SERVICE_LOG_LEVEL,
  };
}

function readEnvironment({ env = processEnvironment(), flags = {} }: LoadOptions): Env {
  const tree: Record<string, string> = {};
  for (const name of Object.keys(Environment.shape)) {
    const value = env[name];
    if (value !== undefined && value !== '') tree[name] = value;
  }
  if (flags.host !== undefined) tree['SERVICE_MCP_HOST'] = flags.host;
  if (flags.port !== undefined) tree['PORT'] = flags.port;
  const parsed = Environment.safeParse(tree);
  if (parsed.success) return parsed.data;
  throw invalidSettings(parsed.error.issues.map(({ path: [name], message }) => `${String(name)}: ${message}`));
}
