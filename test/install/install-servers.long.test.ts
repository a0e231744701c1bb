import { rmSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { createTestRandom } from '../support/random.ts';
import { addLaterReleases, makeReleases } from './bundles.ts';
import { startCleanRoot } from './clean-root.ts';
import { Host, install } from './installer.ts';
import { serverPackages } from './layers.ts';
import { givenBundle, skipReason } from './requested.ts';

const MINUTES = 60_000;
/** Time within which a killed installer is anywhere in a step. */
const STEP_MS = 3_000;
const FLAGS = '--with-postgres --with-redis';

describe.skipIf(skipReason !== null)('install.sh in a clean Debian with servers of Debian', () => {
  let shared: string;
  let packages: string;
  let host: Host;

  beforeAll(async () => {
    shared = makeReleases(givenBundle);
    packages = await serverPackages();
  }, 30 * MINUTES);

  afterAll(() => rmSync(shared, { recursive: true, force: true }));

  afterEach(() => host.root.stop());

  /** Start a root without a network, in which apt has the packages of PostgreSQL and Redis. */
  const start = async () => {
    host = new Host(await startCleanRoot({ shared, network: false, layers: [packages] }));
  };

  test(
    '--with-postgres --with-redis ends in a serving system; again it changes nothing; an upgrade under load loses nothing',
    async () => {
      addLaterReleases(shared);
      await start();
      expect(await host.succeedAsPrinted(install('first', FLAGS))).toContain(
        'The service is ready: http://127.0.0.1:8080',
      );
      const names = [...(await host.succeed('cat /run/service/status.json')).matchAll(/"name":"([a-z-]+)"/g)];
      expect(names.map(([, name]) => name)).toEqual(['reaper', 'worker-ingest', 'worker-embed', 'api']);
      const doctor = await host.succeed('service doctor');
      expect(doctor).toMatch(/✔ redis: /);
      expect(doctor).toMatch(/✔ database: .*15\./);
      await host.succeed(
        'echo "The bearing glider77 turns." >/tmp/note.txt && chmod 644 /tmp/note.txt && service documents upload /tmp/note.txt',
      );

      const state = async () =>
        (await host.succeed('cat /run/service/status.json /etc/service/*')) + (await host.listFiles());
      const once = await state();
      expect(await host.succeed(install('first', FLAGS))).toMatch(/^Release \S+ is installed; nothing to do\.\n$/);
      expect(await host.succeed(install('first'))).toMatch(/nothing to do\.\n$/);
      expect(await state()).toBe(once);
      await host.refuse(install('first', '--embedded'), 4, /--embedded\S* differs from the installation on this host/);

      // Old and new processes work on the same database and Redis meanwhile.
      await host.underLoad(async () => {
        expect(await host.succeedAsPrinted(install('second', '--upgrade'))).toContain('0.1.1-second is installed');
      });
      expect(await host.succeed('service search glider77')).toContain('note.txt');

      await host.succeed('sh /opt/service/current/install.sh --uninstall');
      await host.succeed(install('second', FLAGS));
      expect(await host.succeed('service search glider77')).toContain('note.txt');

      const purged = await host.succeed('sh /opt/service/current/install.sh --uninstall --purge');
      expect(purged).toMatch(/The Debian packages redis-server postgresql remain; remove them with: apt-get purge/);
      const asked = `setpriv --reuid=postgres --regid=postgres --init-groups psql -At -c "select datname from pg_database union select rolname from pg_roles"`;
      expect((await host.succeed(`cd /; ${asked}`)).split('\n')).not.toContain('service');
      await host.expectRemoved();
    },
    15 * MINUTES,
  );

  test(
    'an installation with the servers of Debian that is killed in every step is finished by the last run',
    async () => {
      await start();
      const random = createTestRandom('killed installations with servers');
      const steps = await host.stepsOf(install('first', FLAGS));
      expect(steps.filter((step) => step.startsWith('Install the Debian packages'))).toHaveLength(2);
      // Every run goes on where the one before was killed, and may find its step done. Then it is killed in a later one,
      // since it would finish the installation otherwise.
      const reached = new Set<string>();
      for (const [nth, step] of steps.entries()) {
        for (let time = 0; time < (step.includes('packages') ? 2 : 1); time++) {
          const ended = await host.endAt(install('first', FLAGS), steps.slice(nth), 'KILL', random.int(STEP_MS));
          if (ended !== null) reached.add(ended);
          else await host.succeed('grep -qx status=installed /etc/service/install.conf');
        }
      }
      expect(reached.size, [...reached].join(', ')).toBeGreaterThan(steps.length / 2);
      expect(await host.succeed(install('first', FLAGS))).toMatch(/The service is ready|nothing to do/);
      await host.succeed('service embed hello');
      await host.succeed('sh /opt/service/current/install.sh --uninstall --purge');
      await host.expectRemoved();
    },
    30 * MINUTES,
  );

  test(
    'a Redis that evicts keys, a role of another origin, and a port of Redis that is taken are refused, and nothing is left',
    async () => {
      await start();
      await host.succeed('apt-get install -y --no-install-recommends postgresql redis-server >/dev/null 2>&1');
      await host.succeed('redis-server --port 6400 --maxmemory-policy allkeys-lru --daemonize yes >/dev/null');
      await host.refuse(
        install('first', '--with-postgres --redis-url redis://127.0.0.1:6400'),
        4,
        /Redis has maxmemory-policy allkeys-lru, .*; set "maxmemory-policy noeviction" in redis\.conf/,
      );
      await host.succeed(
        'cd / && /etc/init.d/redis-server start && /etc/init.d/postgresql start && setpriv --reuid=postgres --regid=postgres --init-groups psql -c "create role service"',
      );
      await host.refuse(
        install('first', FLAGS),
        4,
        /PostgreSQL has a role "service" of another origin; use --database-url/,
      );
      await host.succeed(
        'cd / && /etc/init.d/redis-server stop && setpriv --reuid=postgres --regid=postgres --init-groups psql -c "drop role service"',
      );
      // Another program, which answers in another protocol.
      const listen = `perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(LocalAddr => "127.0.0.1:6379", Listen => 5, ReuseAddr => 1) or die; while ($c = $s->accept) { print $c "hello\\r\\n"; close $c }' & pid=$!
      until grep -q :18EB /proc/net/tcp; do kill -0 $pid || exit 99; sleep 0.1; done`;
      await host.refuse(
        `${listen}; ${install('first', FLAGS)}; code=$?; kill $pid; exit $code`,
        5,
        /Redis at 127\.0\.0\.1:6379 .*cannot be used|redis-server does not start/,
      );
    },
    15 * MINUTES,
  );

  test(
    'a checkout installs itself on a Debian that has neither Node.js nor curl',
    async () => {
      host = new Host(await startCleanRoot({ shared, network: true }));
      const port = await freePort(); // the network is that of this host
      const command = `/shared/checkout/install.sh --port ${port}`;
      expect(await host.succeed(command)).toContain(`The service is ready: http://127.0.0.1:${port}`);
      expect(await host.succeed('service embed hello --dimensions 2 --json')).toContain('"embedding"');
      expect(
        await host.succeed(
          'test -e /opt/service/current/src/console/dist/index.html && ls /opt/service/current/node_modules',
        ),
      ).not.toMatch(/^(esbuild|vitest)$/m);
      const before = await host.listFiles();
      expect(await host.succeed(command)).toMatch(/nothing to do\.\n$/);
      expect(await host.listFiles()).toBe(before);
      await host.succeed('sh /opt/service/current/install.sh --uninstall --purge');
      await host.expectRemoved();
    },
    30 * MINUTES,
  );
});
