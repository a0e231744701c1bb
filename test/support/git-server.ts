import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

const AUTHOR = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', '-c', 'init.defaultBranch=main'];
export const GIT_TOKEN = 'sandpiper.kelp';

/** Repository on a local server, and a working copy for changing it. */
export interface GitRepository {
  readonly url: string;
  /** Settings of a connection beside its URL. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Folder of the working copy. */
  readonly work: string;
  /** Commit all changes of the working copy with the date `at`, and push them. */
  commit(at?: Date): void;
  /** Make the repository unreachable. @returns a function that brings it back */
  hide(): () => void;
  close(): Promise<void>;
}

/** Create a repository with one commit. `serve` makes it reachable. */
async function createRepository(
  serve: (folder: string) => Promise<Pick<GitRepository, 'url' | 'settings' | 'close'>>,
): Promise<GitRepository> {
  const folder = mkdtempSync(path.join(tmpdir(), 'service-git-'));
  const bare = path.join(folder, 'repository.git');
  const work = path.join(folder, 'work');
  const git = (cwd: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    execFileSync('git', [...AUTHOR, ...args], { cwd, env: { ...process.env, ...env }, stdio: 'pipe' });
  mkdirSync(work);
  git(folder, ['init', '--quiet', '--bare', bare]);
  git(bare, ['config', 'http.uploadpack', 'true']);
  git(work, ['init', '--quiet']);
  git(work, ['remote', 'add', 'origin', bare]);
  const commit = (at = new Date('2024-03-01T12:00:00Z')) => {
    const date = at.toISOString();
    git(work, ['add', '--all']);
    git(work, ['commit', '--quiet', '--allow-empty', '-m', 'change'], {
      GIT_COMMITTER_DATE: date,
      GIT_AUTHOR_DATE: date,
    });
    git(work, ['push', '--quiet', '--force', 'origin', 'HEAD:main']);
  };
  commit();
  const served = await serve(folder);
  return {
    ...served,
    work,
    commit,
    hide() {
      renameSync(bare, `${bare}-away`);
      return () => renameSync(`${bare}-away`, bare);
    },
    async close() {
      await served.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Serve a repository over http by the CGI program of git, for those who know `GIT_TOKEN`. */
export function startGitOverHttp(): Promise<GitRepository> {
  return createRepository(async (folder) => {
    const server = createServer((request, response) => runBackend(folder, request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return {
      url: `http://127.0.0.1:${port}/repository.git`,
      settings: { token: GIT_TOKEN },
      async close() {
        server.closeAllConnections();
        server.close();
      },
    };
  });
}

function runBackend(folder: string, request: IncomingMessage, response: ServerResponse): void {
  const expected = `Basic ${Buffer.from(`git:${GIT_TOKEN}`).toString('base64')}`;
  if (request.headers.authorization !== expected) {
    response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end('the token is wrong');
    return;
  }
  const url = new URL(request.url ?? '/', 'http://localhost');
  const child = spawn('git', ['http-backend'], {
    env: {
      ...{ PATH: process.env['PATH'], GIT_PROJECT_ROOT: folder, GIT_HTTP_EXPORT_ALL: '1', REMOTE_USER: 'git' },
      ...{ REQUEST_METHOD: request.method, PATH_INFO: url.pathname, QUERY_STRING: url.search.slice(1) },
      ...{ CONTENT_TYPE: request.headers['content-type'] ?? '', REMOTE_ADDR: '127.0.0.1' },
      ...{ GIT_PROTOCOL: request.headers['git-protocol']?.toString() ?? '' },
      ...{ HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '' },
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  request.pipe(child.stdin);
  child.stdin.on('error', () => undefined);
  const parts: Buffer[] = [];
  child.stdout.on('data', (part: Buffer) => parts.push(part));
  child.once('close', () => {
    const output = Buffer.concat(parts);
    const end = output.indexOf('\r\n\r\n');
    const headers = output
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .map((line) => line.split(': ') as [string, string]);
    const status = Number(headers.find(([name]) => name === 'Status')?.[1].slice(0, 3) ?? 200);
    response.writeHead(status, Object.fromEntries(headers.filter(([name]) => name !== 'Status')));
    response.end(output.subarray(end + 4));
  });
}

/** Return true if this machine has an ssh server and its client. */
export function sshAvailable(): boolean {
  return ['/usr/sbin/sshd', '/usr/bin/ssh'].every((program) => spawnSync(program, ['-V']).error === undefined);
}

/** Serve a repository over ssh to the user of this process, by a key. */
export function startGitOverSsh(): Promise<GitRepository> {
  return createRepository(async (folder) => {
    const port = await freePort();
    const keys = path.join(folder, 'keys');
    mkdirSync(keys, { mode: 0o700 });
    const fileOf = (name: string) => path.join(keys, name);
    for (const name of ['host', 'user']) {
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', fileOf(name)]);
    }
    const publicKey = (name: string) =>
      execFileSync('ssh-keygen', ['-y', '-f', fileOf(name)])
        .toString()
        .trim();
    writeFileSync(fileOf('authorized'), publicKey('user'), { mode: 0o600 });
    writeFileSync(fileOf('known_hosts'), `[127.0.0.1]:${port} ${publicKey('host')}\n`);
    const options = {
      ...{ ListenAddress: '127.0.0.1', Port: port, HostKey: fileOf('host'), AuthorizedKeysFile: fileOf('authorized') },
      ...{ StrictModes: 'no', UsePAM: 'no', PasswordAuthentication: 'no', PidFile: 'none', PermitRootLogin: 'yes' },
    };
    mkdirSync('/run/sshd', { recursive: true });
    const flags = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
    const server = spawn('/usr/sbin/sshd', ['-D', '-e', '-f', '/dev/null', ...flags], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let isListening = false;
    server.stderr.on('data', (text) => {
      isListening ||= String(text).includes('listening');
    });
    await until(async () => isListening, { what: 'the ssh server' });
    return {
      url: `ssh://${userInfo().username}@127.0.0.1:${port}${folder}/repository.git`,
      settings: { key_file: fileOf('user'), known_hosts: fileOf('known_hosts') },
      async close() {
        server.kill();
        await once(server, 'close');
      },
    };
  });
}
