import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createTestRandom } from '../support/random.ts';
import { until } from '../support/until.ts';
import { type CleanRoot, cleanRootFault, startCleanRoot } from './clean-root.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const INSTALLED_MB_MAX = 500;
const MINUTES = 60_000;
/** They take ten minutes and download a Debian, so they run on request only. */
const fault = process.env['TEST_INSTALL'] ? cleanRootFault() : 'set TEST_INSTALL=1 to run them';
if (fault !== null) process.stderr.write(`the tests of install.sh in a clean Debian are skipped: ${fault}\n`);

let shared: string;
let root: CleanRoot;

/** Make a bundle of this checkout, and from it one of a later release and one of a release that does not start. */
function makeBundles(): void {
  const made = spawnSync('sh', [path.join(ROOT, 'src/install/bundle.sh'), path.join(shared, 'first.tgz')], {
    encoding: 'utf8',
  });
  if (made.status !== 0) throw new Error(made.stdout + made.stderr);
  const tree = path.join(shared, 'tree');
  mkdirSync(tree);
  run('tar', ['-xzf', path.join(shared, 'first.tgz'), '-C', tree]);
  repack(tree, 'second', '0.1.1');
  writeFileSync(path.join(tree, 'service/server/api-service.ts'), "throw new Error('this release is broken');\n");
  repack(tree, 'broken', '0.1.2');
  rmSync(tree, { recursive: true, force: true });
}

function repack(tree: string, name: string, version: string): void {
  for (const file of ['package.json', 'oclif.manifest.json']) {
    const json = JSON.parse(readFileSync(path.join(tree, 'service', file), 'utf8'));
    writeFileSync(path.join(tree, 'service', file), JSON.stringify({ ...json, version }));
  }
  for (const folder of ['', 'service']) writeFileSync(path.join(tree, folder, 'RELEASE'), `${version}-${name}\n`);
  const script = `find install.sh RELEASE service -type f -exec sha256sum {} + >SHA256SUMS &&
    tar -cf - RELEASE install.sh SHA256SUMS service | gzip -1 >"$1"`;
  run('sh', ['-c', `cd "$0" && ${script}`, tree, path.join(shared, `${name}.tgz`)]);
}

function run(command: string, args: string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr}`);
}

/** Run a script in the clean root; it must end with 0. @returns its standard output */
async function succeed(script: string): Promise<string> {
  const { status, stdout, stderr } = await root.run(script);
  expect({ script, status, output: status === 0 ? '' : stdout + stderr }).toEqual({ script, status: 0, output: '' });
  return stdout;
}

const install = (bundle: string, flags = '') => `sh /shared/install.sh --bundle /shared/${bundle}.tgz ${flags}`;
/** All files but the caches, the notes of mount, and the copies that useradd makes of the lists of users. */
const LIST = `find /etc /usr /opt /var /home /root /srv /run \\( -path /var/cache -o -path /run/lock -o -path /run/mount -o -path '/etc/*-' \\) \
  -prune -o -printf '%p %y %m %l\\n' | sort`;

describe.skipIf(fault !== null)('install.sh in a clean Debian without a network', () => {
  beforeAll(async () => {
    shared = mkdtempSync(path.join(tmpdir(), 'service-test-bundles-'));
    cpSync(path.join(ROOT, 'install.sh'), path.join(shared, 'install.sh'));
    cpSync(path.join(ROOT, 'test/install/load.ts'), path.join(shared, 'load.ts'));
    makeBundles();
  }, 15 * MINUTES);

  afterAll(() => rmSync(shared, { recursive: true, force: true }));

  afterEach(() => root.stop());

  test(
    'one command ends in a serving system; again it changes nothing; --purge leaves nothing',
    async () => {
      root = await startCleanRoot({ shared, network: false });
      const before = await succeed(LIST);
      expect(await succeed(install('first'))).toContain('The service is ready: http://127.0.0.1:8080');
      expect(await succeed('service embed hello --dimensions 2 --json | grep -c \'"embedding"\'')).toBe('1\n');
      expect(await succeed('stat -c "%a %U" /var/lib/service /etc/service/service.env')).toBe(
        '700 service\n600 root\n',
      );
      const size = Number((await succeed('du -s --block-size=1000000 /opt/service')).split('\t')[0]);
      expect(size).toBeLessThanOrEqual(INSTALLED_MB_MAX);

      const state = `cat /run/service/status.json /etc/service/*; ${LIST}`;
      const once = await succeed(state);
      expect(await succeed(install('first'))).toMatch(/^Release \S+ is installed; nothing to do\.\n$/);
      expect(await succeed(state)).toBe(once);

      await succeed('kill -9 $(sed \'s/.*"pid":\\([0-9]*\\),"crashes".*/\\1/\' /run/service/status.json)');
      await until(async () => (await root.run('service embed hello --json')).status === 0, { withinMs: 2 * MINUTES });

      const refused = await root.run(install('second'));
      expect(refused).toMatchObject({ status: 4, stderr: expect.stringMatching(/run install\.sh --upgrade\n$/) });
      await succeed('sh /opt/service/current/install.sh --uninstall');
      expect(await succeed('ls /opt /var/lib/service')).toMatch(/^\/opt:\n\n[\s\S]*postgres\n/);
      await succeed(install('first'));
      await succeed('sh /opt/service/current/install.sh --uninstall --purge');
      expect(await succeed(LIST)).toBe(before);
    },
    15 * MINUTES,
  );

  test(
    'an upgrade, and one to a broken release, fail no request and lose no job',
    async () => {
      root = await startCleanRoot({ shared, network: false });
      await succeed(install('first'));
      // The modules of the load are those of the installed release; it runs beside the service.
      await succeed('mkdir /load && cp /shared/load.ts /load && cp -a /opt/service/current/node_modules /load/');
      const load =
        '/load/node_modules/.bin/node /load/load.ts --url http://127.0.0.1:8080 --key /var/lib/service/admin.key --out /load/seen.json';
      await succeed(`${load} >/load/log 2>&1 & echo $! >/load/pid`);
      await until(async () => (await root.run('grep ready /load/log')).status === 0);

      expect(await succeed(install('second', '--upgrade'))).toContain('Release 0.1.1-second is installed');
      const broken = await root.run(install('broken', '--upgrade'));
      expect(broken).toMatchObject({ status: 1, stderr: expect.stringContaining('is running again; nothing is lost') });
      expect(await succeed('ls /opt/service/versions')).toBe('0.1.1-second\n');

      await succeed('kill -TERM $(cat /load/pid)');
      const seen = await until(async () => JSON.parse((await root.run('cat /load/seen.json')).stdout || 'null'), {
        withinMs: 2 * MINUTES,
      });
      expect(seen.failed).toEqual([]);
      expect(seen.documents.length).toBeGreaterThan(10);
      // Every document and every bulk job is finished, by whichever release; `failed` would be a lost one.
      await until(
        async () => {
          const { stdout } = await root.run('service jobs list --json --limit 200');
          const states = [...stdout.matchAll(/"status":\s*"(\w+)"/g)].map(([, state]) => state);
          return states.length > 0 && states.every((state) => state === 'ready' || state === 'failed');
        },
        { withinMs: 5 * MINUTES, everyMs: 2_000 },
      );
      process.stderr.write(`${seen.requests} requests, slowest ${Math.round(seen.slowest_ms)} ms, 0 failed\n`);
      expect(await succeed('service jobs list --json --status failed')).not.toMatch(/"status"/);
    },
    20 * MINUTES,
  );

  test(
    'an installation that is killed in a step is finished by the next one',
    async () => {
      root = await startCleanRoot({ shared, network: false });
      const steps = [
        'Prepare',
        'Create the system user',
        'Write the settings',
        'Install the command',
        'Bring',
        'Start',
      ];
      const step = createTestRandom('killed step of install.sh').pick(steps);
      // The installer is a group of its own, so that the commands that it runs are killed too.
      const killed = await root.run(
        `mkfifo /tmp/out; setsid ${install('first')} >/tmp/out 2>&1 & pid=$!
       while read -r line; do case $line in "==> ${step}"*) kill -9 -$pid && echo killed; break ;; esac; done </tmp/out; wait $pid; true`,
      );
      expect(killed).toMatchObject({ status: 0, stdout: 'killed\n' });
      expect(await succeed(install('first'))).toContain('The service is ready');
      await succeed('service embed hello');
    },
    15 * MINUTES,
  );

  test(
    'a taken port, a full disk, a wrong database and a damaged bundle leave nothing behind',
    async () => {
      root = await startCleanRoot({ shared, network: false });
      const before = await succeed(LIST);
      const refuse = async (script: string, status: number, message: RegExp) => {
        const ran = await root.run(script);
        expect(ran).toMatchObject({ status, stderr: expect.stringMatching(message) });
        expect(await succeed(LIST)).toBe(before);
      };
      // The shell ends the listener by its id; without job control it has no group of its own.
      const listen = `perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(LocalAddr => "127.0.0.1:8080", Listen => 1) or die; sleep 600' & pid=$!
      until grep -q :1F90 /proc/net/tcp; do kill -0 $pid || exit 99; sleep 0.1; done`;
      await refuse(
        `${listen}; ${install('first')}; code=$?; kill $pid; exit $code`,
        4,
        /port 8080 is taken; stop what/,
      );
      await refuse(
        `mkdir /tmp/small && mount -t tmpfs -o size=64m tmpfs /tmp/small; ${install('first', '--prefix /tmp/small/service')}; code=$?; umount /tmp/small; exit $code`,
        4,
        /\/tmp\/small\/service needs 1300 MB, and its file system has \d+ MB free/,
      );
      await refuse(
        install('first', '--database-url postgres://u:geheim@127.0.0.1:1/d'),
        5,
        /install\.sh: the database cannot be used: .*ECONNREFUSED.*; check the database URL\n/,
      );
      await refuse(
        `head -c 60000000 /shared/first.tgz >/tmp/cut.tgz; sh /shared/install.sh --bundle /tmp/cut.tgz`,
        1,
        /cut\.tgz cannot be unpacked; copy it again, and compare its checksum/,
      );
      // The reader of its messages ends, as after Ctrl-C in "install.sh | tee log".
      await refuse(`${install('first')} | head -n 1`, 0, /Undo what was done/);
    },
    15 * MINUTES,
  );
});
