import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { syncNow } from '../../src/memory/sources.ts';
import { openTestAppliance } from '../support/appliance.ts';
import { addSource, ended, syncWorker } from '../support/memory.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';
import { type SourcePlace, writeAll } from './readers/places/place.ts';

/** Entries of the batches that a synchronisation has in progress. */
const IN_PROGRESS_MAX = 32;

/** Kill the worker of a synchronisation several times, and check that the last attempt did the rest exactly once. */
export async function checkKills(
  place: SourcePlace,
  { entries, kills }: { readonly entries: number; readonly kills: number },
): Promise<void> {
  // Folders read files again that may have been changed while they were read.
  const later = new Date(Date.now() + 3_600_000);
  await writeAll(place, entries, (nth) => (nth % 10 === 0 ? later : undefined));
  const sources = { place: place.connection };
  const test = await openTestAppliance({ sources });
  onTestFinished(() => test.close());
  const { sql, memory, objects } = test.appliance;
  writeFileSync(
    path.join(test.dataDir, 'service.yaml'),
    JSON.stringify({ sources, source_roots: [tmpdir()], workers: { lease_seconds: 5 } }),
  );
  const env = { SERVICE_DATA_DIR: test.dataDir, DATABASE_URL: test.databaseUrl };
  const { id } = await addSource(test, { name: 'place', connection: 'place', config: place.config });
  await syncNow(memory, test.operator, id);
  const written = async () => {
    const [row] = await sql`SELECT count(*)::int AS n FROM source_entries`;
    return row?.['n'] as number;
  };
  for (let kill = 0; kill < kills; kill++) {
    const before = await written();
    const worker = await startServiceProcess(['worker', 'ingest', '--concurrency', '1'], env);
    await until(async () => (await written()) > before, { withinMs: 60_000, everyMs: 2, what: 'an entry' });
    await worker.end('SIGKILL');
  }
  // The synchronisation was still in progress at the last kill.
  expect(await written()).toBeLessThan(entries);
  await sql`UPDATE jobs SET lease_expires_at = now() - interval '1 second' WHERE status <> 'queued' AND kind = 'sync'`;
  await test.appliance.jobs.recovery().start(new AbortController().signal);
  const worker = syncWorker(test);
  await worker.start();
  const source = await ended(test, id);
  await worker.stop();
  expect(source).toMatchObject({
    sync_state: 'idle',
    counts: { added: entries, changed: 0, removed: 0, renamed: 0, unchanged: 0, failed: 0 },
  });
  const [documents] = await sql`SELECT count(*)::int AS n, count(DISTINCT file_name)::int AS names FROM documents`;
  expect(documents).toEqual({ n: entries, names: entries });
  const [jobs] = await sql`SELECT count(*)::int AS n FROM jobs WHERE kind = 'ingest'`;
  expect(jobs?.['n']).toBe(entries);
  const stored = new Set<string>();
  for await (const { key } of objects.list('documents/')) stored.add(key.split('/')[2] as string);
  expect(stored.size - entries).toBeLessThanOrEqual(kills * IN_PROGRESS_MAX);
}
