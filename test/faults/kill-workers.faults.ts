import { afterEach, expect, it } from 'vitest';
import { createTestRandom } from '../support/random.ts';
import { until } from '../support/until.ts';
import { checkBulkJob, feedBulkJobs, TEXTS, textsOf } from './bulk-jobs.ts';
import { BULK_POINTS, INGEST_POINTS } from './fail-points.ts';
import { type Fleet, LEASE_MS, openFleet } from './fleet.ts';
import { checkDocuments, feedDocuments, routeToUpstream } from './ingest-jobs.ts';
import { type Kills, killWorkers } from './killer.ts';
import { reportFigures } from './report-figures.ts';
import { scaled } from './scaled.ts';

const BULK_KILLS = 60;
const INGEST_KILLS = 40;
/** Time of three leases and the remaining work. */
const END_MS = 3 * LEASE_MS + 45_000;

let fleet: Fleet;
afterEach(() => fleet.close());

/** Let two workers finish the remaining jobs. @returns number of unfinished jobs */
async function finishAll(command: 'embed' | 'ingest'): Promise<number> {
  const { sql } = fleet.appliance;
  const workers = await Promise.all([fleet.spawn(['worker', command]), fleet.spawn(['worker', command])]);
  const open = () => sql`SELECT 1 FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')`;
  await until(async () => (await open()).length === 0, { withinMs: END_MS, everyMs: 100 }).catch(() => undefined);
  await Promise.all(workers.map((worker) => worker.end('SIGTERM')));
  return (await open()).length;
}

function report(
  guarantee: string,
  kills: Kills,
  counts: { lost: number; doubled: number; stuck: number },
  note: string,
) {
  process.stderr.write(`${guarantee}: ${[...kills.byPoint].map(([point, n]) => `${point} ${n}`).join(', ')}\n`);
  reportFigures({ guarantee, n: kills.count, ...counts, worstRecoveryMs: Math.max(...kills.recoveriesMs), note });
}

it('bulk jobs whose workers are killed at any point all finish, with each text once', async () => {
  fleet = await openFleet();
  const random = createTestRandom('kill workers of bulk jobs');
  fleet.upstream.decide = () => ({ kind: 'delay', ms: 40 + random.int(80) });
  const feed = feedBulkJobs(fleet, 4);
  const kills = await killWorkers(fleet, random, 'bulk', BULK_POINTS, scaled(BULK_KILLS));
  const jobs = await feed.stop();
  const stuck = kills.stuck + (await finishAll('embed'));

  let lost = 0;
  let doubled = 0;
  for (const [id, name] of jobs) {
    const faults = await checkBulkJob(fleet, id, textsOf(name));
    lost += faults.lost;
    doubled += faults.doubled;
  }
  const usage = await fleet.appliance.usage.summarize(fleet.operator, {});
  report(`workers killed over bulk jobs of ${TEXTS} texts`, kills, { lost, doubled, stuck }, `${jobs.size} jobs`);
  expect({ lost, doubled, stuck, unexpectedExits: fleet.unexpectedExits() }).toEqual({
    ...{ lost: 0, doubled: 0, stuck: 0, unexpectedExits: [] },
  });
  expect(kills.neverReached).toEqual([]);
  expect(usage.axes.embed_batch).toMatchObject({ requests: jobs.size, texts: jobs.size * TEXTS });
});

it('documents whose ingest workers are killed at any point are all found, with each chunk once', async () => {
  fleet = await openFleet();
  await routeToUpstream(fleet);
  const random = createTestRandom('kill workers of ingests');
  fleet.upstream.decide = () => ({ kind: 'delay', ms: 10 + random.int(40) });
  const feed = feedDocuments(fleet, 24);
  const kills = await killWorkers(fleet, random, 'ingest', INGEST_POINTS, scaled(INGEST_KILLS));
  const documents = await feed.stop();
  const stuck = kills.stuck + (await finishAll('ingest'));
  const { lost, doubled, leftovers } = await checkDocuments(fleet, documents);
  report('workers killed over ingests', kills, { lost, doubled, stuck }, `${documents.length} documents`);
  expect({ lost, doubled, stuck, leftovers, unexpectedExits: fleet.unexpectedExits() }).toEqual({
    ...{ lost: 0, doubled: 0, stuck: 0, leftovers: [], unexpectedExits: [] },
  });
  expect(kills.neverReached).toEqual([]);
});
