import { rmSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createTestRandom } from '../support/random.ts';
import { until } from '../support/until.ts';
import { addLaterReleases, makeReleases } from './bundles.ts';
import { startCleanRoot } from './clean-root.ts';
import { Host, install } from './installer.ts';
import { givenBundle, skipReason } from './requested.ts';

const INSTALLED_MB_MAX = 550;
const MINUTES = 60_000;
/** Time within which a killed installer is anywhere in a step. */
const STEP_MS = 1_500;

describe.skipIf(skipReason !== null)('install.sh in a clean Debian without a network', () => {
  let shared: string;
  let host: Host;

  beforeAll(() => {
    shared = makeReleases(givenBundle);
  }, 15 * MINUTES);

  afterAll(() => rmSync(shared, { recursive: true, force: true }));

  afterEach(() => host.root.stop());

  const start = async () => {
    host = new Host(await startCleanRoot({ shared, network: false }));
  };

  test(
    'one command ends in a serving system; again it changes nothing; --purge leaves nothing',
    async () => {
      addLaterReleases(shared);
      await start();
      const before = await host.listFiles();
      await host.succeed(`setpriv --reuid=nobody --clear-groups ${install('first', '--print')} >/dev/null`);
      expect(await host.succeedAsPrinted(install('first'))).toContain('The service is ready: http://127.0.0.1:8080');
      expect(await host.succeed('service embed hello --dimensions 2 --json | grep -c \'"embedding"\'')).toBe('1\n');
      expect(await host.succeed('stat -c "%a %U" /var/lib/service /etc/service/service.env')).toBe(
        '700 service\n600 root\n',
      );
      const size = Number((await host.succeed('du -s --block-size=1000000 /opt/service')).split('\t')[0]);
      expect(size).toBeLessThanOrEqual(INSTALLED_MB_MAX);
      expect(await host.ask('/console')).toContain('<title>Console</title>');
      const runtime = `import { findLibrary } from "./src/local-models/runtime/find-library.ts";
        import { OrtApi } from "./src/local-models/runtime/ort-api.ts"; new OrtApi(findLibrary(null));`;
      await host.succeed(`cd /opt/service/current && node_modules/.bin/node --input-type=module -e '${runtime}'`);

      const state = async () =>
        (await host.succeed('cat /run/service/status.json /etc/service/*')) + (await host.listFiles());
      const once = await state();
      expect(await host.succeed(install('first'))).toMatch(/^Release \S+ is installed; nothing to do\.\n$/);
      expect(await state()).toBe(once);

      await host.succeed('kill -9 $(sed \'s/.*"pid":\\([0-9]*\\),"crashes".*/\\1/\' /run/service/status.json)');
      await until(async () => (await host.run('service embed hello --json')).status === 0, { withinMs: 2 * MINUTES });

      // As "npm start" in a checkout beside the installed service.
      const serve = async (dataDir: string) => host.run(`/opt/service/current/bin/service serve --data-dir ${dataDir}`);
      expect(await serve('/var/lib/service')).toMatchObject({
        ...{
          status: 4,
          stderr: expect.stringMatching(/the data directory \/var\/lib\/service belongs to user id \d+/),
        },
      });
      expect(await serve('/srv/own')).toMatchObject({
        ...{ status: 4, stderr: expect.stringMatching(/port 8080 is in use by another installation of the service/) },
      });
      await host.succeed('rm -r /srv/own');

      await host.refuse(install('second'), 4, /run install\.sh --upgrade\n$/);
      await host.refuse(
        `setpriv --reuid=nobody --clear-groups ${install('first', '--print')}`,
        4,
        /only root may read \/etc\/service\/install\.conf/,
      );
      await host.succeedAsPrinted('sh /opt/service/current/install.sh --uninstall');
      expect(await host.succeed('ls /opt /var/lib/service')).toMatch(/^\/opt:\n\n[\s\S]*postgres\n/);
      await host.succeedAsPrinted(install('first'));
      // A plain "su" has the PATH of the user, and this install.sh has no checkout beside it.
      const plain = `PATH=/usr/local/bin:/usr/bin:/bin ${install('first', '--uninstall --purge')}`;
      await host.succeedAsPrinted(plain);
      expect(await host.listFiles()).toBe(before);
    },
    15 * MINUTES,
  );

  test(
    'an upgrade, and one to a broken release, fail no request and lose no job',
    async () => {
      addLaterReleases(shared);
      await start();
      await host.succeed(install('first'));
      await host.underLoad(async () => {
        expect(await host.succeedAsPrinted(install('second', '--upgrade'))).toContain('0.1.1-second is installed');
        const broken = await host.run(install('broken', '--upgrade'));
        expect(broken).toMatchObject({
          ...{ status: 1, stderr: expect.stringContaining('is in use again; nothing is lost') },
        });
        expect(await host.succeed('ls /opt/service/versions')).toBe('0.1.1-second\n');
      });
    },
    20 * MINUTES,
  );

  test(
    'an installation that is killed in any of its steps is finished by the next one',
    async () => {
      await start();
      const random = createTestRandom('killed installations');
      const before = await host.listFiles();
      const steps = await host.stepsOf(install('first'));
      expect(steps).toContainEqual(expect.stringMatching(/^Prepare release/));
      expect(steps).toContainEqual(expect.stringMatching(/^Wait until/));
      for (const step of steps) {
        expect(await host.endAt(install('first'), [step], 'KILL', random.int(STEP_MS))).toBe(step);
        expect(await host.succeed(install('first')), step).toMatch(/The service is ready|nothing to do/);
        await host.succeed('service embed hello');
        await host.succeed('sh /opt/service/current/install.sh --uninstall --purge');
        expect(await host.listFiles(), step).toBe(before);
      }
    },
    30 * MINUTES,
  );

  test(
    'an installation that is interrupted in any of its steps leaves nothing',
    async () => {
      await start();
      const random = createTestRandom('interrupted installations');
      const before = await host.listFiles();
      for (const step of await host.stepsOf(install('first'))) {
        expect(await host.endAt(install('first'), [step], 'TERM', random.int(STEP_MS))).toBe(step);
        // In its last step the installer may have been finished.
        if ((await host.run('test -e /etc/service/install.conf')).status === 0) {
          await host.succeed('grep -qx status=installed /etc/service/install.conf && service embed hello');
          await host.succeed('sh /opt/service/current/install.sh --uninstall --purge');
        }
        expect(await host.listFiles(), step).toBe(before);
      }
    },
    30 * MINUTES,
  );

  test(
    'a removal that is killed in any of its steps is finished by the next one, or ended by an installation',
    async () => {
      await start();
      const random = createTestRandom('killed removals');
      const before = await host.listFiles();
      // The installed script may be removed already.
      const remove = 'sh /shared/checkout/install.sh --uninstall';
      await host.succeed(install('first'));
      const steps = await host.stepsOf(`${remove} --purge`);
      expect(steps).toHaveLength(2);
      for (const flags of ['', ' --purge']) {
        for (const step of flags === '' ? steps.slice(0, 1) : steps) {
          await host.succeed(install('first'));
          expect(await host.endAt(remove + flags, [step], 'KILL', random.int(STEP_MS))).toBe(step);
          if (flags === '') {
            expect(await host.succeed(install('first')), step).toMatch(/The service is ready/);
            await host.succeed('service embed hello');
          }
          const again = await host.run(`${remove} --purge`);
          expect(again.status === 0 || /nothing is installed/.test(again.stderr), again.stderr).toBe(true);
          expect(await host.listFiles(), step).toBe(before);
        }
      }
    },
    20 * MINUTES,
  );

  test(
    'an upgrade that is killed in any of its steps is finished by the next one',
    async () => {
      addLaterReleases(shared);
      await start();
      await host.succeed(install('first'));
      const random = createTestRandom('killed upgrades');
      const steps = await host.stepsOf(install('second', '--upgrade'));
      expect(steps).toContainEqual(expect.stringMatching(/^Switch from release/));
      for (const [nth, step] of steps.entries()) {
        const bundle = nth % 2 === 0 ? 'second' : 'first';
        const words = step.split(' ').slice(0, 2).join(' '); // without the name of the release
        const ended = await host.endAt(install(bundle, '--upgrade'), [words], 'KILL', random.int(STEP_MS));
        expect(ended?.startsWith(words), step).toBe(true);
        expect(await host.succeed(install(bundle, '--upgrade')), step).toMatch(/Release \S+ is installed/);
        const versions = await host.succeed('ls -A /opt/service/versions && cat /opt/service/current/RELEASE');
        expect(versions, step).toMatch(/^(\S+)\n\1\n$/);
        await host.succeed('service embed hello');
      }
    },
    30 * MINUTES,
  );

  test(
    'a host, a folder, a port or a server that cannot be used is refused and left as it was',
    async () => {
      await start();
      const first = (flags = '') => install('first', flags);
      const undone = (command: string, undo: string) => `${command}; code=$?; ${undo}; exit $code`;
      await host.refuse(
        undone(
          `mv /etc/os-release /tmp; echo ID=fedora >/etc/os-release; ${first()}`,
          'mv /tmp/os-release /etc/os-release',
        ),
        4,
        /supports Debian and Ubuntu, and this host is "fedora"/,
      );
      await host.refuse(
        `setpriv --reuid=nobody --clear-groups ${first()}`,
        4,
        /run install\.sh as root, for example with sudo/,
      );
      await host.refuse(`flock /run/lock/service-install.lock ${first()}`, 4, /another install\.sh is running; wait/);
      // The shell ends the listener by its id; without job control it has no group of its own.
      const listen = `perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(LocalAddr => "127.0.0.1:8080", Listen => 1) or die; sleep 600' & pid=$!
      until grep -q :1F90 /proc/net/tcp; do kill -0 $pid || exit 99; sleep 0.1; done`;
      await host.refuse(`${listen}; ${undone(first(), 'kill $pid')}`, 4, /port 8080 is taken; stop what listens there/);
      const oldPackages =
        'mkdir /tmp/old && printf \'#!/bin/sh\\necho "  Candidate: 13+225"\\n\' >/tmp/old/apt-cache && chmod +x /tmp/old/apt-cache';
      await host.refuse(
        `${oldPackages}; PATH=/tmp/old:$PATH; ${first('--with-postgres')}`,
        4,
        /this release of Debian has PostgreSQL 13, and 15 or later is required; use --embedded or --database-url/,
      );
      await host.refuse(
        undone(`mkdir /srv/full && touch /srv/full/file; ${first('--data-dir /srv/full')}`, 'rm -r /srv/full'),
        4,
        /\/srv\/full contains other files; choose an empty folder/,
      );
      await host.refuse(
        first('--prefix /root/service'),
        4,
        /cannot reach \/root\/service, since \/root is closed to other/,
      );
      await host.refuse(first('--data-dir /etc/hostname/data'), 2, /--data-dir must be a folder of its own/);
      await host.refuse(
        undone(`touch /srv/file; ${first('--data-dir /srv/file/data')}`, 'rm /srv/file'),
        4,
        /--data-dir: \/srv\/file\/data cannot be made, since \/srv\/file is no folder/,
      );
      const mounted = (options: string, command: string) =>
        undone(
          `mkdir /srv/own && mount -t tmpfs -o ${options} tmpfs /srv/own; ${command}`,
          'umount /srv/own; rmdir /srv/own',
        );
      await host.refuse(
        mounted('size=64m', first('--prefix /srv/own/service')),
        4,
        /needs 1300 MB, and its file system has \d+ MB/,
      );
      await host.refuse(
        mounted('size=64m', first('--data-dir /srv/own/data')),
        4,
        /needs 512 MB, and its file system has \d+ MB/,
      );
      await host.refuse(mounted('noexec,size=2g', first('--prefix /srv/own/service')), 4, /that is mounted noexec/);
      await host.refuse(mounted('ro', first('--data-dir /srv/own/data')), 4, /that is mounted read-only/);
      // It has enough bytes, and room for fewer files than the release has.
      await host.refuse(
        mounted('size=2g,nr_inodes=3000', first('--prefix /srv/own/service')),
        4,
        /the file system of \/srv\/own\/service\S* is full; make room/,
      );
      await host.refuse(
        first('--database-url postgres://u:geheim@127.0.0.1:1/d'),
        5,
        /PostgreSQL at u@127\.0\.0\.1:1\/d \(--database-url\) cannot be used: nothing listens there/,
      );
      await host.refuse(
        'head -c 60000000 /shared/first.tgz >/tmp/cut.tgz; sh /shared/install.sh --bundle /tmp/cut.tgz',
        1,
        /cut\.tgz cannot be unpacked \(.+\); copy it again, and compare its checksum/,
      );
      // The reader of its messages ends, as after Ctrl-C in "install.sh | tee log".
      const before = await host.listFiles();
      const unread = await host.run(`${first()} | head -n 1`);
      expect(unread).toMatchObject({ status: 0, stderr: expect.stringContaining('Undo what was done') });
      expect(await host.listFiles()).toBe(before);
    },
    30 * MINUTES,
  );
});
