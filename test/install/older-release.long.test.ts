import { rmSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { addLaterReleases, addOlderRelease, makeReleases } from './bundles.ts';
import { startCleanRoot } from './clean-root.ts';
import { Host, install } from './installer.ts';
import { givenBundle, olderBundle, skipReason } from './requested.ts';

const MINUTES = 60_000;
const isSkipped = skipReason !== null || olderBundle === null;
if (skipReason === null && olderBundle === null)
  process.stderr.write('the upgrade from an earlier commit is skipped: set TEST_INSTALL_OLD to its bundle\n');

/** Command line that installs the release of the earlier commit by its own installer. */
function installOlder(flags = ''): string {
  return `sh /shared/older-install.sh --bundle /shared/older.tgz ${flags}`;
}

describe.skipIf(isSkipped)('the release of an earlier commit in a clean Debian without a network', () => {
  let shared: string;
  let host: Host;

  beforeAll(() => {
    shared = makeReleases(givenBundle);
    addLaterReleases(shared);
    addOlderRelease(shared, olderBundle as string);
  }, 15 * MINUTES);

  afterAll(() => rmSync(shared, { recursive: true, force: true }));

  afterEach(() => host.root.stop());

  const release = () => host.succeed('cat /opt/service/current/RELEASE');
  const migrations = async (): Promise<number> =>
    JSON.parse(await host.succeed('service db status --json')).migrations.filter(
      (migration: { applied_at: string | null }) => migration.applied_at !== null,
    ).length;
  const contents = () =>
    host.succeed(`/opt/service/current/node_modules/.bin/node /shared/contents.ts --url http://127.0.0.1:8080 \
      --admin-key /var/lib/service/admin.key --made /root/made.json`);

  test(
    'it is upgraded to this release under load, before that goes back from one that is broken, and is installed again after it',
    async () => {
      host = new Host(await startCleanRoot({ shared, network: false }));
      await host.succeed(installOlder());
      const older = await release();
      const olderMigrations = await migrations();
      const made = await contents();
      expect(JSON.parse(made).documents[0]).toMatchObject({ status: 'ready', text: expect.stringContaining('keep0x') });

      const upgrade = async () => {
        // The broken release migrates the database before it fails, so the older one goes on with the newer schema.
        expect(await host.run(install('broken', '--upgrade'))).toMatchObject({
          ...{ status: 1, stderr: expect.stringContaining('is in use again; nothing is lost') },
        });
        expect(await release()).toBe(older);
        expect(await contents()).toBe(made);

        await host.succeedAsPrinted(install('first', '--upgrade'));
        expect(await release()).not.toBe(older);
        expect(await contents()).toBe(made);
      };
      // Requests to releases before 24 November 2026 may fail while migrations run; nothing accepted may be lost.
      await host.underLoad(upgrade, { mayFail: true });
      const newMigrations = await migrations();
      process.stderr.write(
        `${older.trim()} has ${olderMigrations} migrations, ${(await release()).trim()} ${newMigrations}\n`,
      );
      expect(newMigrations).toBeGreaterThanOrEqual(olderMigrations);
      await host.succeed('service doctor');

      // A migration is not undone, so the earlier release works with the schema of the later one.
      await host.succeed(installOlder('--upgrade'));
      expect(await release()).toBe(older);
      expect(await contents()).toBe(made);
      await host.succeed(install('first', '--upgrade'));
      expect(await contents()).toBe(made);

      await host.succeed('sh /opt/service/current/install.sh --uninstall --purge');
      await host.expectRemoved();
    },
    30 * MINUTES,
  );
});
