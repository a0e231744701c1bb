import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { processEnvironment } from '../../../platform/environment.ts';
import type { GitConnection } from '../../../platform/git-settings.ts';
import { boundedLine } from '../../../platform/printable.ts';
import { SourceFault } from '../source-reader.ts';

/** Environment variables to pass to git: paths of programs, home directory, proxies and certificates. */
const PASSED_ON = [
  ...['PATH', 'HOME', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
  ...['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'NO_PROXY', 'no_proxy'],
];
/** Maximum length of the error output to keep, from its end. */
const STDERR_CHARS_MAX = 4_096;
const REASON_CHARS_MAX = 300;
/** Minimum transfer rate in bytes per second, and the time below it after which a transfer is aborted. */
const LOW_SPEED = { bytes: '100', seconds: '60' };
const SSH_SECONDS = 20;

/**
 * The operator's git in one directory. Settings are passed in the environment, which other users of the host can't
 * read: a command line would expose the token.
 */
export class GitCommand {
  readonly #directory: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #connection: GitConnection;

  constructor(connection: GitConnection, directory: string) {
    this.#connection = connection;
    this.#directory = directory;
    this.#env = environmentOf(connection);
  }

  /** Run git and return its output. @throws SourceFault quoting git */
  async run(args: readonly string[], signal: AbortSignal, input?: string): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of this.stream(args, signal, input)) parts.push(part);
    return Buffer.concat(parts);
  }

  /** Run git and yield its output as it arrives. @throws SourceFault quoting git, at the end of the output */
  async *stream(args: readonly string[], signal: AbortSignal, input = ''): AsyncGenerator<Buffer> {
    const child = this.#spawn(args, signal);
    const ended = outcomeOf(child);
    child.stdin?.on('error', () => undefined).end(input);
    try {
      for await (const part of child.stdout as Readable) yield part as Buffer;
    } finally {
      child.kill();
    }
    const { code, stderr } = await ended;
    signal.throwIfAborted();
    if (code !== 0) throw gitFault(stderr, this.#connection);
  }

  /** Start git and return its output as a stream that fails if git does. */
  open(args: readonly string[]): Readable {
    const child = this.#spawn(args, null);
    const output = child.stdout as Readable;
    child.stdin?.end();
    output.once('close', () => child.kill());
    void outcomeOf(child).then(({ code, stderr }) => {
      if (code !== 0) output.destroy(gitFault(stderr, this.#connection));
    });
    return output;
  }

  #spawn(args: readonly string[], signal: AbortSignal | null): ChildProcess {
    return spawn('git', args, {
      cwd: this.#directory,
      env: this.#env,
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(signal === null ? {} : { signal }),
    });
  }
}

/** Wait for git to end. The exit code is null if git couldn't start or was killed. */
function outcomeOf(child: ChildProcess): Promise<{ code: number | null; stderr: string }> {
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-STDERR_CHARS_MAX);
  });
  return new Promise((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      resolve({ code: null, stderr: error.code === 'ENOENT' ? NOT_INSTALLED : error.message }),
    );
    child.once('close', (code) => resolve({ code, stderr }));
  });
}

const NOT_INSTALLED = 'git is not installed on the host of the worker';

function environmentOf({ url, user, token, keyFile, knownHosts }: GitConnection): NodeJS.ProcessEnv {
  const own = processEnvironment();
  const scheme = /^(\w+):\/\//.exec(url)?.[1] ?? 'ssh';
  const settings: [string, string][] = [
    // Submodules and redirects must not use a transport that the operator didn't specify.
    ['protocol.allow', 'never'],
    [`protocol.${scheme}.allow`, 'always'],
    ['http.followRedirects', 'false'],
    ['http.lowSpeedLimit', LOW_SPEED.bytes],
    ['http.lowSpeedTime', LOW_SPEED.seconds],
    ['credential.helper', ''],
    ['core.hooksPath', '/dev/null'],
    ['gc.autoDetach', 'false'],
  ];
  if (token !== null) {
    const basic = Buffer.from(`${user}:${token.reveal()}`).toString('base64');
    settings.push(['http.extraHeader', `Authorization: Basic ${basic}`]);
  }
  const ssh = ['ssh', '-o BatchMode=yes', '-o StrictHostKeyChecking=yes', `-o ConnectTimeout=${SSH_SECONDS}`];
  if (keyFile !== null) ssh.push('-o IdentitiesOnly=yes', `-i ${quoted(keyFile)}`);
  if (knownHosts !== null) ssh.push(`-o UserKnownHostsFile=${quoted(knownHosts)}`);
  return {
    ...Object.fromEntries(PASSED_ON.map((name) => [name, own[name]])),
    LC_ALL: 'C.UTF-8',
    GIT_TERMINAL_PROMPT: '0',
    GIT_SSH_COMMAND: ssh.join(' '),
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], nth) => [
        [`GIT_CONFIG_KEY_${nth}`, key],
        [`GIT_CONFIG_VALUE_${nth}`, value],
      ]),
    ),
  };
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Patterns of git's and ssh's messages, with the fault category and advice. The first match wins. */
const FAILURES: readonly (readonly [RegExp, SourceFault['category'], string])[] = [
  [/not installed/, 'source_settings', 'install it'],
  [/could(?: not|n't) find remote ref/i, 'source_missing', 'the repository is empty or has no such branch'],
  [/host key verification failed/i, 'source_refused', 'add the host to known_hosts of the connection'],
  [/certificate|SSL|TLS/, 'source_refused', 'check the certificate of the server'],
  [
    /authentication failed|could not read (?:username|password)|permission denied|\b40[13]\b|access denied/i,
    'source_refused',
    'check the token or the key of the connection',
  ],
  [/not found|does not appear to be a git repository|does not exist|\b404\b/i, 'source_missing', 'check its address'],
  [/redirect/i, 'source_missing', 'the repository has moved; change its address in the settings'],
];

/** Convert git's error output to a fault that quotes the server. */
function gitFault(stderr: string, { url }: GitConnection): SourceFault {
  const said = stderr.split('\n').filter((line) => /\S/.test(line));
  const line = said.findLast((each) => /^(?:fatal|error|remote|ssh)|denied|failed/i.test(each)) ?? said.at(-1) ?? '';
  const reason = boundedLine(line.replace(/^(?:fatal|error|remote):\s*/i, ''), REASON_CHARS_MAX);
  const known = FAILURES.find(([words]) => words.test(stderr));
  const message = `the repository ${url} cannot be read: ${reason || 'git was ended'}`;
  if (known !== undefined) return new SourceFault(known[1], `${message}; ${known[2]}`);
  return new SourceFault('source_unavailable', message, { retryable: true });
}
