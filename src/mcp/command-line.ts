import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { processEnvironment } from '../platform/environment.ts';
import { AppError, invalidRequest } from '../platform/errors.ts';
import { runServices, untilInterrupted } from '../platform/lifecycle.ts';
import { openLogger } from '../platform/logger.ts';
import { findNearest } from '../platform/nearest-word.ts';
import { loadHttpSettings, loadStdioSettings } from '../platform/tool-server-settings.ts';
import { VERSION } from '../platform/version.ts';
import type { CommandIo } from './init/run-init.ts';

const TOKEN_BYTES = 32;

const HELP = `Tool server for AI clients (Model Context Protocol) over the REST API of this service.

USAGE
  service-mcp                        serve one client over stdio; clients start it themselves
  service-mcp --http [--host H] [--port N]
                                     serve over HTTP at /mcp (default: 127.0.0.1 port 8787)
  service-mcp token                  print a new random token for SERVICE_MCP_BEARER_TOKEN
  service-mcp init --client claude|cursor|vscode|remote|chatgpt [--bucket B] [--server-url URL]
                                     print the configuration of a client
        --sign-in                    people sign in to the server, so the client needs no token (default in mode oauth)
        --write                      write it into the file of the client; what stands there is kept
        --dry-run                    say what --write would do, and write nothing
        --config FILE                another file than the usual one of the client
        --name NAME                  name of the entry (default: service)
  service-mcp --help | --version

ENVIRONMENT
  SERVICE_API_BASE_URL               address of the API (default: http://127.0.0.1:8080)
  SERVICE_API_KEY                    API key; not needed in the modes upstream-bearer and oauth
  SERVICE_DEFAULT_BUCKET             bucket of searches that name none (default: default)
  SERVICE_MEMORY_BUCKETS             buckets that memory searches are kept to, separated by commas
  SERVICE_USER_ID                    user whose sources are listed (default: the user of the key)
  SERVICE_MCP_AUTH_MODE              static (one token for all clients), upstream-bearer (each client's own key) or
                                     oauth (people sign in; the API needs SERVICE_MCP_URL, too)
  SERVICE_MCP_URL                    address of this server as clients see it (default: where it listens)
  SERVICE_MCP_BEARER_TOKEN           the token of mode static
  SERVICE_MCP_ALLOW_UNAUTHENTICATED  1: no token, on a loopback address only
  PORT, SERVICE_MCP_PORT             port of --http
  SERVICE_MCP_HOST                   address of --http
  SERVICE_MCP_ALLOWED_HOSTS          names under which the server is reached, separated by commas
  SERVICE_MCP_ALLOWED_ORIGINS        web origins that may use it, separated by commas
  SERVICE_MCP_BODY_BYTES, SERVICE_MCP_SESSIONS_MAX, SERVICE_MCP_SESSION_IDLE_SECONDS, SERVICE_MCP_CALLS_MAX
                                     bounds (16 MiB, 1000, 1800, 64)
  SERVICE_LOG_LEVEL                  fatal, error, warn, info, debug, trace or silent (default: info); logs go to stderr

EXAMPLES
  service-mcp init --client claude --bucket docs --write
  SERVICE_MCP_BEARER_TOKEN=$(service-mcp token) SERVICE_API_KEY=svc_... service-mcp --http --port 8787
`;

/** Exit codes, the same as for the command `service`. */
const EXIT = { fault: 1, usage: 2, refused: 4 } as const;

const COMMANDS = ['token', 'init'];
const FLAGS = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
  http: { type: 'boolean' },
  host: { type: 'string' },
  port: { type: 'string' },
  client: { type: 'string' },
  bucket: { type: 'string' },
  'server-url': { type: 'string' },
  'sign-in': { type: 'boolean' },
  write: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  config: { type: 'string' },
  name: { type: 'string' },
} as const;
type Flag = keyof typeof FLAGS;
/** Flags of each subcommand, in addition to --help and --version. */
const FLAGS_OF: Readonly<Record<string, readonly Flag[]>> = {
  stdio: [],
  http: ['http', 'host', 'port'],
  token: [],
  init: ['client', 'bucket', 'server-url', 'sign-in', 'write', 'dry-run', 'config', 'name'],
};

/** Run one command line of `service-mcp` and return its exit code. */
export async function runToolServerCommand(
  argv: readonly string[],
  program: string,
  io: CommandIo = processIo(),
): Promise<number> {
  try {
    await run(argv, program, io);
    return 0;
  } catch (error) {
    if (!(error instanceof AppError)) {
      io.note(`service-mcp: ${error instanceof Error ? error.stack : error}`);
      return EXIT.fault;
    }
    io.note(`service-mcp: ${error.message}`);
    if (!isUsage(error)) return EXIT.refused;
    io.note('See: service-mcp --help');
    return EXIT.usage;
  }
}

function processIo(): CommandIo {
  return {
    env: processEnvironment(),
    platform: process.platform,
    folder: process.cwd(),
    print: (text) => void process.stdout.write(text),
    note: (...lines) => void process.stderr.write(lines.map((line) => `${line}\n`).join('')),
  };
}

function isUsage({ code, status }: AppError): boolean {
  return code === 'config_invalid' || status === 400;
}

async function run(argv: readonly string[], program: string, io: CommandIo): Promise<void> {
  const { print } = io;
  const { command, flags } = parse(argv);
  if (flags.help) return print(HELP);
  if (flags.version) return print(`service-mcp/${VERSION}\n`);
  switch (command) {
    case 'token':
      return print(`${randomBytes(TOKEN_BYTES).toString('base64url')}\n`);
    case 'init': {
      const { runInit } = await import('./init/run-init.ts');
      return runInit(flags, program, io);
    }
    case 'http':
      return serveHttp(flags, io);
    default:
      return serveOverStdio(io);
  }
}

function parse(argv: readonly string[]) {
  const { values: flags, positionals, tokens } = parseLoosely(argv);
  const known = Object.keys(FLAGS);
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    if (!known.includes(token.name))
      throw unknown(
        'flag',
        token.rawName,
        known.map((name) => `--${name}`),
      );
    const { type } = FLAGS[token.name as Flag];
    if (type === 'string' && !token.value) throw invalidRequest(`${token.rawName} needs a value`, token.name);
    if (type === 'boolean' && token.value !== undefined)
      throw invalidRequest(`${token.rawName} takes no value`, token.name);
  }
  const [word, ...rest] = positionals;
  if (word !== undefined && !COMMANDS.includes(word)) throw unknown('command', word, COMMANDS);
  if (rest[0] !== undefined) throw invalidRequest(`"${rest[0]}" is one argument too many`);
  const command = word ?? (flags.http ? 'http' : 'stdio');
  for (const flag of Object.keys(flags) as Flag[]) {
    if (flag === 'help' || flag === 'version' || FLAGS_OF[command]?.includes(flag)) continue;
    const owner = Object.keys(FLAGS_OF).find((name) => FLAGS_OF[name]?.includes(flag));
    throw invalidRequest(`--${flag} belongs to ${owner === 'http' ? '--http' : `"service-mcp ${owner}"`}`, flag);
  }
  return { command, flags };
}

/**
 * Parse the arguments. Replace the error of Node's parser, which names its own options, by a message that names the
 * flag.
 */
function parseLoosely(argv: readonly string[]) {
  return parseArgs({ args: [...argv], options: FLAGS, allowPositionals: true, strict: false, tokens: true }) as {
    values: { readonly [name in Flag]?: (typeof FLAGS)[name]['type'] extends 'string' ? string : boolean };
    positionals: string[];
    tokens: ReturnType<typeof parseArgs<{ tokens: true; strict: false }>>['tokens'];
  };
}

function unknown(what: string, word: string, known: readonly string[]): AppError {
  const nearest = findNearest(word, known);
  return invalidRequest(`there is no ${what} ${word}${nearest === null ? '' : `; did you mean ${nearest}?`}`);
}

async function serveOverStdio({ env, note }: CommandIo): Promise<void> {
  const settings = loadStdioSettings({ env });
  const logger = openLogger(settings.logLevel);
  if (process.stdin.isTTY) {
    note(
      'service-mcp: this serves a client over stdin and stdout, and clients start it themselves ("service-mcp init" configures them); Ctrl-C ends it',
    );
  }
  const { serveStdio } = await import('./serve-stdio.ts');
  await untilInterrupted((signal) =>
    serveStdio(settings, { input: process.stdin, output: process.stdout, logger, signal }),
  );
  // An open stdin would keep the process running.
  process.stdin.destroy();
}

async function serveHttp(
  flags: { readonly host?: string; readonly port?: string },
  { env, print }: CommandIo,
): Promise<void> {
  const settings = loadHttpSettings({ env, flags });
  const logger = openLogger(settings.logLevel);
  const { httpToolService } = await import('./http/http-service.ts');
  const service = httpToolService(settings, logger);
  await runServices([service], { logger, onReady: () => print(`listening on ${service.url}\n`) });
}
