import { expect, onTestFinished, test } from 'vitest';
import { withoutDeletions } from '../../src/platform/objects/guard-deletions.ts';
import { probeObjects } from '../../src/platform/objects/probe-objects.ts';
import { openTestAppliance } from '../support/appliance.ts';
import { until } from '../support/until.ts';

test('deletions wait while a backup forbids them; uploads of duplicates and probes do not', async () => {
  const { appliance, close } = await openTestAppliance();
  onTestFinished(close);
  const { objects, direct } = appliance;
  const signal = new AbortController().signal;
  for (const key of ['a/one', 'a/two', 'b/three']) await objects.put(key, Buffer.from(key));
  let waiting: Promise<unknown> = Promise.resolve();
  await withoutDeletions(
    direct,
    async () => {
      waiting = Promise.all([objects.delete('a/one'), objects.deletePrefix('b/')]);
      await objects.delete('a/two', { unreferenced: true });
      await probeObjects(objects);
      await until(
        async () => {
          const [row] = await appliance.sql`
            SELECT count(*)::int AS n FROM pg_locks
            WHERE locktype = 'advisory' AND NOT granted
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
          return row?.['n'] === 1; // both share one transaction
        },
        { what: 'the deletions to wait' },
      );
      expect(await objects.head('a/one')).not.toBeNull();
      expect(await objects.head('b/three')).not.toBeNull();
      expect(await objects.head('a/two')).toBeNull();
    },
    signal,
  );
  await waiting;
  expect([await objects.head('a/one'), await objects.head('b/three')]).toEqual([null, null]);
});
