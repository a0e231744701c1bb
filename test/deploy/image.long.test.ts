import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cleanRootFault, debianRoot } from '../install/clean-root.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const MINUTES = 60_000;
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const BASE = 'localhost/service-test-base';
const page = readFileSync(path.join(ROOT, 'docs', 'install.md'), 'utf8');

/** Return the path of a program, or an empty text if it isn't installed. */
function pathOf(program: string): string {
  return spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim();
}

/** Return the reason why no image can be built and run here, or null. */
function fault(): string | null {
  if (!process.env['TEST_IMAGE']) return 'set TEST_IMAGE=1 to run it';
  const missing = ['podman', 'runc', 'catatonit', 'npm'].filter((name) => pathOf(name) === '');
  return missing.length > 0 ? `${missing.join(', ')} not installed` : cleanRootFault();
}

const skipReason = fault();
if (skipReason !== null) process.stderr.write(`the test of the image is skipped: ${skipReason}\n`);

/** Return the only command of docs/install.md that begins with these words. */
function documented(words: string): string {
  const [line, ...others] = page.split('\n').filter((each) => each.startsWith(words));
  if (line === undefined || others.length > 0) throw new Error(`docs/install.md needs one line "${words} …"`);
  return line;
}

describe.skipIf(skipReason !== null)('the image', () => {
  /** Folder of all images, containers and volumes of this test, and of what `docker` is in its commands. */
  let folder: string;
  let port: number;

  const sh = async (command: string) => {
    const env = {
      ...process.env,
      PATH: `${folder}:${process.env['PATH']}`,
      CONTAINERS_CONF: path.join(folder, 'containers.conf'),
      CONTAINERS_STORAGE_CONF: path.join(folder, 'storage.conf'),
      BUILDAH_ISOLATION: 'chroot',
      BUILDAH_FORMAT: 'docker',
    };
    const { stdout } = await run('sh', ['-euc', command], { cwd: ROOT, env, maxBuffer: 64 * 1024 * 1024 });
    return stdout.trim();
  };
  const ready = () =>
    until(
      () =>
        fetch(`http://127.0.0.1:${port}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      { withinMs: 2 * MINUTES },
    );
  const state = (name: string) => sh(`docker inspect service --format '{{.State.${name}}}'`);
  const expectAnswer = async () =>
    until(async () =>
      (await sh(`docker exec service service search 'how often are bearings greased'`)).includes('pump.md'),
    );

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'service-test-image-'));
    useFolder(folder);
    port = await freePort();
    await sh(await baseCommand(folder));
    const build = documented('docker build').replace(
      'docker build',
      `docker build --quiet --pull=never --network host --build-arg BASE=${BASE} --ignorefile deploy/Dockerfile.dockerignore`,
    );
    await sh(build);
    await sh(documented('docker run').replace('127.0.0.1:8080:8080', `127.0.0.1:${port}:8080`));
    await ready();
  }, 20 * MINUTES);

  afterAll(async () => {
    await sh('docker rm --force --all && docker rmi --force --all');
    rmSync(folder, { recursive: true, force: true });
  }, MINUTES);

  test('the container of the documented command is healthy, and has no rights and no writable files but its volume', async () => {
    await sh('docker healthcheck run service');
    const status = await sh(
      'docker exec service sh -c "id -u; grep CapEff /proc/1/status; touch /opt/service/x 2>&1 || true"',
    );
    expect(status.split('\n')).toEqual([
      '10001',
      expect.stringMatching(/^CapEff:\s+0+$/),
      expect.stringContaining('Read-only file system'),
    ]);
    const report = await sh('docker exec service service doctor');
    expect(report).toMatch(/document readers: isolated/);
  });

  test('a document is found after a restart, and in a new container with the same volume, and SIGTERM ends with exit code 0', {
    timeout: 5 * MINUTES,
  }, async () => {
    const key = await sh(documented('docker exec service cat'));
    const form = new FormData();
    form.append('file', new Blob(['Grease the bearings of the pump every 500 hours.']), 'pump.md');
    const upload = await fetch(`http://127.0.0.1:${port}/v1/buckets/default/documents`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}` },
      body: form,
    });
    expect(upload.status).toBe(202);
    await expectAnswer();

    await sh('docker stop service');
    expect(await state('ExitCode')).toBe('0');
    await sh('docker start service');
    await ready();
    await expectAnswer();

    await sh('docker stop service && docker rm service');
    await sh(documented('docker run').replace('127.0.0.1:8080:8080', `127.0.0.1:${port}:8080`));
    await ready();
    await expectAnswer();
    expect(await sh(documented('docker exec service cat'))).toBe(key);
  });
});

/** Let podman keep everything in a folder, apart from images and containers of this host, and be `docker` there. */
function useFolder(folder: string): void {
  writeFileSync(
    path.join(folder, 'storage.conf'),
    `[storage]\ndriver = "overlay"\ngraphroot = "${folder}/images"\nrunroot = "${folder}/run"\n`,
  );
  writeFileSync(
    path.join(folder, 'containers.conf'),
    `[containers]
# This process may not be allowed to raise its limits.
default_ulimits = ["nofile=8192:8192", "nproc=8192:8192"]
[engine]
cgroup_manager = "cgroupfs"
lock_type = "file"
# The other runtime of Debian refuses hosts with cgroups of both versions.
runtime = "runc"
tmp_dir = "${folder}/tmp"
volume_path = "${folder}/volumes"
[network]
network_config_dir = "${folder}/networks"
`,
  );
  mkdirSync(path.join(folder, 'networks'));
  symlinkSync(pathOf('podman'), path.join(folder, 'docker'));
}

/** Return the command that makes an image like the default base: a clean Debian with this host's Node.js and npm. */
async function baseCommand(folder: string): Promise<string> {
  const contexts = {
    debian: await debianRoot(),
    node: path.dirname(process.execPath),
    npm: path.resolve(realpathSync(pathOf('npm')), '../..'),
  };
  const steps = [
    'FROM scratch',
    'COPY --from=debian . /',
    'COPY --from=node node /usr/local/bin/',
    'COPY --from=npm . /usr/local/lib/node_modules/npm',
    'RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm',
  ];
  const base = path.join(folder, 'base');
  mkdirSync(base);
  const certificates = process.env['NODE_EXTRA_CA_CERTS'];
  if (certificates) {
    writeFileSync(path.join(base, 'certificates.pem'), readFileSync(certificates));
    steps.push('COPY certificates.pem /', 'ENV NODE_EXTRA_CA_CERTS=/certificates.pem');
  }
  writeFileSync(path.join(base, 'Dockerfile'), steps.join('\n'));
  const given = Object.entries(contexts).map(([name, place]) => `--build-context ${name}=${place}`);
  return `docker build --quiet ${given.join(' ')} --tag ${BASE} ${base}`;
}
