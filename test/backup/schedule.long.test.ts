import { expect, onTestFinished, test } from 'vitest';
import { listBackups } from '../../src/backup/layout.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { backUp, makeFolder, never, openPlace, verifyNewest } from './support.ts';

async function openScheduled(keep = 2): Promise<TestAppliance & { folder: ReturnType<typeof makeFolder> }> {
  const folder = makeFolder();
  onTestFinished(folder.remove);
  const scheduled = await openTestAppliance({ backup: { to: folder.directory, every: '1h', keep } });
  onTestFinished(() => scheduled.close());
  return { ...scheduled, folder };
}

async function runSchedule({ appliance }: TestAppliance): Promise<void> {
  const chore = appliance.chores().find(({ name }) => name === 'scheduled backup');
  await chore?.run(never());
}

/** Make the backups on record older by two hours. */
async function age(sql: Sql): Promise<void> {
  await sql`UPDATE backups SET started_at = started_at - interval '2 hours', finished_at = finished_at - interval '2 hours'`;
}

test('the schedule makes a backup when one is due, verifies it, and keeps the newest', async () => {
  const scheduled = await openScheduled();
  const { sql, objects } = scheduled.appliance;
  await objects.put('documents/org_x/doc_x/original', Buffer.from('only in the first backups'));
  const ids: string[] = [];
  for (let round = 0; round < 4; round++) {
    if (round === 2) await objects.delete('documents/org_x/doc_x/original');
    await runSchedule(scheduled);
    await runSchedule(scheduled); // not due
    ids.push((await verifyNewest(scheduled.folder.location)).id);
    await age(sql);
  }
  expect(new Set(ids).size).toBe(4);
  const target = await openPlace(scheduled.folder.location);
  expect(await listBackups(target.objects)).toEqual({ complete: [ids[3], ids[2]], unfinished: [] });
  const contents: string[] = [];
  for await (const { key } of target.objects.list('contents/')) contents.push(key);
  expect(contents).toEqual([]);
  const rows = await sql`SELECT trigger, fault, verified_at FROM backups`;
  expect(rows).toHaveLength(4);
  for (const row of rows)
    expect(row).toMatchObject({ trigger: 'schedule', fault: null, verified_at: expect.any(Date) });
});

test('two processes with one schedule make one backup', async () => {
  const scheduled = await openScheduled();
  const { directory } = scheduled.folder;
  const second = await openTestAppliance({ backup: { to: directory, every: '1h' } }, { beside: scheduled });
  onTestFinished(() => second.close());
  await Promise.all([runSchedule(scheduled), runSchedule(second), runSchedule(scheduled), runSchedule(second)]);
  expect(await scheduled.appliance.sql`SELECT count(*)::int AS n FROM backups`).toEqual([{ n: 1 }]);
});

test('a backup by a release that does not know all tables of the database is refused', async () => {
  const { appliance, folder } = await openScheduled();
  await appliance.sql`INSERT INTO schema_migrations (version, name, checksum) VALUES (9999, 'later', 'x')`;
  await expect(backUp(appliance, folder.location)).rejects.toMatchObject({ code: 'backup_release_too_old' });
});

test('a second backup at the same time is refused', async () => {
  const scheduled = await openScheduled();
  const { location } = scheduled.folder;
  let refusal: unknown = null;
  await backUp(scheduled.appliance, location, {
    onProgress: () => {
      refusal ??= backUp(scheduled.appliance, location).catch((error: unknown) => error);
    },
  });
  expect(await refusal).toMatchObject({ code: 'backup_running', status: 409 });
});

test('a failed backup of the schedule is recorded, removes nothing, and is not tried again at once', async () => {
  const scheduled = await openScheduled(1);
  const { sql, config } = scheduled.appliance;
  await runSchedule(scheduled);
  await age(sql);
  const foreign = await openTestAppliance({ backup: { to: scheduled.folder.directory, every: '1h', keep: 1 } });
  onTestFinished(() => foreign.close());
  await expect(runSchedule(foreign)).rejects.toMatchObject({ code: 'backup_foreign' });
  await runSchedule(foreign);
  expect(await foreign.appliance.sql`SELECT fault FROM backups`).toEqual([
    { fault: expect.stringContaining('another installation') },
  ]);
  expect(config.backup.keep).toBe(1);
  expect(await verifyNewest(scheduled.folder.location)).toMatchObject({ missing_files: 0 });
});
