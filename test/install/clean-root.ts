import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { withFileLock } from '../../src/platform/embedded-postgres/file-lock.ts';
import { until } from '../support/until.ts';

const SCRIPT = fileURLToPath(new URL('./clean-root.sh', import.meta.url));
const SUITE = 'bookworm';
/** Time that the making of a Debian root may take. */
const MAKE_MS_MAX = 15 * 60_000;
/** Settings of the test's environment that the network of this host may need. */
const NETWORK_SETTINGS = /^(npm_config_registry|https?_proxy|no_proxy)$/i;

/** Reason why no clean Debian root can be made here, or null. */
export function cleanRootFault(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'root on Linux is required';
  if (spawnSync('sh', ['-c', 'command -v debootstrap unshare nsenter']).status !== 0) {
    return 'debootstrap is not installed';
  }
  const probe = spawnSync('unshare', ['--mount', '--pid', '--fork', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']);
  return probe.status === 0 ? null : 'this process may not mount file systems';
}

/** Make a minimal Debian with debootstrap, or return the one that an earlier run has made. */
export async function debianRoot(): Promise<string> {
  const root = path.join(tmpdir(), `service-test-debian-${SUITE}`);
  if (existsSync(`${root}.complete`)) return root;
  return withFileLock(`${root}.lock`, async () => makeDebianRoot(root), { waitMs: MAKE_MS_MAX });
}

function makeDebianRoot(root: string): string {
  if (existsSync(`${root}.complete`)) return root;
  if (readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${root}/`)) {
    throw new Error(`a file system is mounted in ${root}; unmount it`);
  }
  spawnSync('rm', ['-rf', '--one-file-system', root]);
  // debootstrap mounts /proc in the root; in a namespace of its own that ends with it, even if it is killed.
  const command = ['debootstrap', '--variant=minbase', SUITE, root, mirror()];
  const made = spawnSync('unshare', ['--mount', '--propagation', 'private', ...command], { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`debootstrap failed: ${made.stdout.slice(-2000)}${made.stderr.slice(-2000)}`);
  writeFileSync(`${root}.complete`, '');
  return root;
}

/**
 * Make a layer over a Debian root by a shell script that may use the network, or return the one that an earlier run has
 * made. Layers can be given to `startCleanRoot`.
 *
 * @param below layers below it, the upmost first
 */
export async function debianLayer(name: string, script: string, below: readonly string[] = []): Promise<string> {
  const layer = path.join(tmpdir(), `service-test-debian-${SUITE}-${name}`);
  await withFileLock(`${layer}.lock`, () => makeLayer(layer, script, below), { waitMs: MAKE_MS_MAX });
  return path.join(layer, 'upper');
}

async function makeLayer(layer: string, script: string, below: readonly string[]): Promise<void> {
  const recipe = JSON.stringify([script, below]);
  if (existsSync(`${layer}.complete`) && readFileSync(`${layer}.complete`, 'utf8') === recipe) return;
  rmSync(`${layer}.complete`, { force: true });
  spawnSync('rm', ['-rf', '--one-file-system', layer]);
  mkdirSync(layer);
  const shared = mkdtempSync(path.join(tmpdir(), 'service-test-empty-'));
  const root = await startCleanRoot({ shared, network: true, layers: below, upper: layer });
  const made = await root.run(script).finally(() => root.stop());
  rmdirSync(shared);
  if (made.status !== 0) throw new Error(`${layer} cannot be made: ${made.stdout}${made.stderr}`);
  writeFileSync(`${layer}.complete`, recipe);
}

/** Find the mirror of Debian that this host uses. */
function mirror(): string {
  for (const file of globSync('/etc/apt/{sources.list,sources.list.d/*}')) {
    const found = /^(?:URIs:\s*|deb\s+(?:\[[^\]]*\]\s+)?)(https?:\S*\/debian\/?)(?:\s|$)/m.exec(
      readFileSync(file, 'utf8'),
    );
    if (found?.[1] !== undefined) return found[1];
  }
  return 'http://deb.debian.org/debian';
}

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Clean Debian root in namespaces of its own. Whatever is installed and started in it ends with it. */
export interface CleanRoot {
  /** Run a shell script in it, and wait for its end. */
  run(script: string): Promise<Ran>;
  /** End all of its processes. */
  stop(): Promise<void>;
}

/**
 * Start a clean Debian root.
 *
 * @param options.shared folder of this host that appears in it as `/shared`, read-only
 * @param options.network false for a network that has only the loopback device
 * @param options.layers layers over the root, the upmost first
 * @param options.upper folder that keeps what is written; by default it is in memory
 * @param options.systemd true if systemd is to be the first process; a layer must contain it
 */
export async function startCleanRoot(options: {
  shared: string;
  network: boolean;
  layers?: readonly string[];
  upper?: string;
  systemd?: boolean;
}): Promise<CleanRoot> {
  const { shared, network, layers = [], upper = '', systemd = false } = options;
  const work = mkdtempSync(path.join(tmpdir(), 'service-test-root-'));
  const namespaces = ['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child'];
  if (!network) namespaces.push('--net');
  const roots = [...layers, await debianRoot()].join(':');
  const args = [roots, work, shared, upper, systemd ? 'systemd' : ''];
  const init = spawn('unshare', [...namespaces, 'sh', SCRIPT, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let complaints = '';
  init.stderr.on('data', (part) => {
    complaints += part;
  });
  const exited = once(init, 'exit');
  const ready = once(createInterface({ input: init.stdout }), 'line');
  if ((await Promise.race([ready, exited]))[0] !== 'ready') throw new Error(`the clean root ended: ${complaints}`);
  const pid = readFileSync(`/proc/${init.pid}/task/${init.pid}/children`, 'utf8').trim();
  const enter = ['--target', pid, '--mount', '--pid', '--net', '--root', '--wd'];
  const start = (script: string, stdout: number, stderr: number) => {
    const command = [...enter, 'env', '-i', ...environment(), '/bin/sh', '-c', script];
    const child = spawn('nsenter', command, { stdio: ['ignore', stdout, stderr], detached: true });
    closeSync(stdout);
    closeSync(stderr);
    return child;
  };
  return {
    async run(script) {
      // Files, since a daemon that the script starts would hold pipes open, and what is in a pipe may be lost at the exit.
      const folder = mkdtempSync(path.join(tmpdir(), 'service-test-output-'));
      try {
        const [stdout, stderr] = ['stdout', 'stderr'].map((name) => path.join(folder, name)) as [string, string];
        const [status] = await once(start(script, openSync(stdout, 'a'), openSync(stderr, 'a')), 'exit');
        return { status, stdout: readFileSync(stdout, 'utf8'), stderr: readFileSync(stderr, 'utf8') };
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
    async stop() {
      init.kill('SIGKILL');
      await exited;
      if (systemd) await until(async () => removeCgroups(path.basename(work)), { what: 'the end of systemd' });
      rmdirSync(work); // this host has only the empty folder; what was mounted there ended with the process
    },
  };
}

/** Remove the groups of processes that a systemd has left. @returns false while some of them have processes */
function removeCgroups(name: string): boolean {
  const script = `mount -t cgroup2 cgroup2 /mnt && find "/mnt/$0" -depth -type d -exec rmdir {} +`;
  return spawnSync('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', script, name]).status === 0;
}

function environment(): string[] {
  const passed = Object.entries(process.env).filter(([name]) => NETWORK_SETTINGS.test(name));
  const settings = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root'];
  if (process.env['SSL_CERT_FILE']) {
    for (const name of ['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS', 'CURL_CA_BUNDLE']) {
      settings.push(`${name}=/certificates.pem`);
    }
  }
  return [...settings, ...passed.map(([name, value]) => `${name}=${value}`)];
}
