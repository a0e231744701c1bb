import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { cancelJob } from '../../src/jobs/operations.ts';
import type { JobKind } from '../../src/jobs/schema.ts';
import { AppError } from '../../src/platform/errors.ts';
import { mapPostgresError, postgresUrl } from '../../src/platform/postgres.ts';
import { openPostgresWiretap, type PostgresWiretap } from '../support/postgres-wiretap.ts';
import { createTestRandom } from '../support/random.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';
import { checkBulkJob, submitTexts, textsOf } from './bulk-jobs.ts';
import { BULK_POINTS, type FailPoint, type HeldJob, holdAt, INGEST_POINTS, LOCK_POINT } from './fail-points.ts';
import { type Fleet, LEASE_MS, openFleet, UPSTREAM_KEYS } from './fleet.ts';
import { checkDocuments, routeToUpstream, uploadText } from './ingest-jobs.ts';
import { reportFigures } from './report-figures.ts';
import { scaled } from './scaled.ts';

const PAUSES = 20;
/** Paused at the same time, half of them of each kind. */
const AT_ONCE = 10;
const TEXTS = 2_000;
const REACH_MS = 30_000;
/** Locks that a paused process holds in PostgreSQL are taken from it after 10 s, of two in a chain one after the other. */
const LOCKS_MS = 40_000;
/** A job whose lease was lost as often fails the next time, as one that kills its worker. */
const LOST_LEASES_MAX = 2;

let fleet: Fleet;
afterEach(() => fleet.close());

interface Victim {
  readonly worker: ServiceProcess;
  readonly tap: PostgresWiretap;
  readonly point: FailPoint;
  readonly held: HeldJob | null;
  /** Jobs that it had when it was paused. */
  readonly jobs: readonly { id: string; kind: JobKind; fence: number }[];
}

/** No timeout of PostgreSQL's runs while it waits for the rest of a statement: a process that stops there is not tested. */
async function pauseBetweenStatements(worker: ServiceProcess, tap: PostgresWiretap): Promise<void> {
  await until(
    async () => {
      worker.signal('SIGSTOP');
      await delay(20); // what it has sent off arrives
      if (!tap.isMidStatement()) return true;
      worker.signal('SIGCONT');
      return false;
    },
    { everyMs: 5, what: 'a pause between two statements' },
  );
}

it('workers that are paused for two leases write nothing when they come back', async () => {
  fleet = await openFleet();
  await routeToUpstream(fleet);
  const { sql } = fleet.appliance;
  const random = createTestRandom('pause workers');
  fleet.upstream.decide = () => ({ kind: 'delay', ms: 20 + random.int(40) });
  const listeners = new Map<string, () => void>();
  fleet.upstream.onAnswered = ({ apiKey }) => listeners.get(apiKey ?? '')?.();
  const bulkJobs = new Map<string, string>();
  const documents = new Map<string, string>(); // by job
  const cancelled = new Set<string>();
  const unfinished = () => sql`SELECT id FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')`;
  let worstMs = 0;
  let pauses = 0;
  let stuck = 0;

  /** More jobs than one worker takes at a time. */
  const submitFor = async (kind: JobKind, name: string) => {
    for (let copy = 0; copy < (kind === 'bulk' ? 3 : 5); copy++) {
      if (kind === 'bulk') {
        bulkJobs.set(await submitTexts(fleet, textsOf(`${name} ${copy}`, TEXTS)), `${name} ${copy}`);
        continue;
      }
      const documentId = await uploadText(fleet, `${name} ${copy}`.replaceAll(' ', '-'));
      const [row] = await sql`SELECT id FROM jobs WHERE document_id = ${documentId}`;
      documents.set(row?.['id'] as string, documentId);
    }
  };

  const pauseOne = async (kind: JobKind, upstreamKey: string, point: FailPoint): Promise<Victim> => {
    const tap = await openPostgresWiretap(fleet.connection);
    const nextArrival = holdAt(point, tap, (listener) => listeners.set(upstreamKey, listener));
    const command = kind === 'bulk' ? 'embed' : 'ingest';
    const worker = await fleet.spawn(['worker', command], { databaseUrl: postgresUrl(tap.connection), upstreamKey });
    const rows = () => sql<{ id: string; kind: JobKind; fence: number; crash_count: number }[]>`
      SELECT jobs.id, jobs.kind, fence, crash_count FROM jobs JOIN workers ON workers.id = worker_id
      WHERE pid = ${worker.pid} AND status IN ('extracting', 'chunking', 'embedding', 'indexing')`;
    const isAnywhere = point.statement === null && !point.isUpstream;
    for (;;) {
      const held = isAnywhere ? null : await nextArrival(REACH_MS);
      if (held === null) await until(async () => (await rows()).length > 0, { withinMs: REACH_MS });
      await pauseBetweenStatements(worker, tap);
      const jobs = await rows();
      if (jobs.every((job) => job.crash_count < LOST_LEASES_MAX)) return { worker, tap, point, held, jobs };
      worker.signal('SIGCONT');
      held?.letGo();
      await delay(50);
    }
  };

  /** A paused process may hold the row for a while: then the answer is to try again. */
  const cancel = (id: string) =>
    until<'yes' | 'no'>(
      async () => {
        try {
          const reply = await cancelJob(fleet.appliance.jobs.operations, fleet.operator, id, { force: true });
          return reply.detail === undefined ? 'yes' : 'no';
        } catch (error) {
          const known = mapPostgresError(error);
          if (known instanceof AppError && known.retryable) return null;
          throw error;
        }
      },
      { withinMs: LOCKS_MS },
    );

  const round = async (count: number) => {
    const kinds = Array.from({ length: count }, (_, i): JobKind => (i % 2 === 0 ? 'bulk' : 'ingest'));
    for (const [i, kind] of kinds.entries()) await submitFor(kind, `round ${pauses} thing ${i}`);
    const victims = await Promise.all(
      kinds.map((kind, i) => {
        // One of each round with the lock on the index in its hand.
        const point = i === 1 ? LOCK_POINT : random.pick(kind === 'bulk' ? BULK_POINTS : INGEST_POINTS);
        return pauseOne(kind, UPSTREAM_KEYS[1 + i] as string, point);
      }),
    );
    pauses += count;
    const pausedMs = performance.now();
    const others = await Promise.all([fleet.spawn(['worker', 'embed']), fleet.spawn(['worker', 'ingest'])]);
    for (const { id } of victims.flatMap(({ jobs }) => jobs)) {
      if (random.int(4) === 0 && (await cancel(id)) === 'yes') cancelled.add(id);
    }
    await until(async () => (await unfinished()).length === 0, { withinMs: LOCKS_MS, everyMs: 100 }).catch(
      () => stuck++,
    );
    worstMs = Math.max(worstMs, performance.now() - pausedMs);
    await delay(Math.max(0, 2 * LEASE_MS - (performance.now() - pausedMs)));
    // What is dead is swept, so that late writes find nothing of theirs.
    const reaper = fleet.appliance.reaper({ everyMs: 200 });
    await reaper.start(new AbortController().signal);
    for (const { worker, tap, held } of victims) {
      tap.listener = null;
      worker.signal('SIGCONT');
      held?.letGo();
    }
    await until(async () => (await unfinished()).length === 0, { withinMs: LOCKS_MS }).catch(() => stuck++);
    // Their drain ends what they were at.
    await Promise.all(victims.map(({ worker }) => worker.end('SIGTERM')));
    await Promise.all(victims.map(({ tap }) => tap.close()));
    await Promise.all(others.map((worker) => worker.end('SIGTERM')));
    await reaper.stop();
  };
  for (let left = scaled(PAUSES); left > 0; left -= AT_ONCE) await round(Math.min(left, AT_ONCE));

  let lost = 0;
  let stale = 0;
  for (const [id, name] of bulkJobs) {
    if (cancelled.has(id)) {
      const [row] = await sql`SELECT status FROM jobs WHERE id = ${id}`;
      if (row?.['status'] !== 'cancelled') stale++;
      continue;
    }
    const wrong = await checkBulkJob(fleet, id, textsOf(name, TEXTS));
    lost += wrong.lost;
    stale += wrong.doubled;
  }
  const kept = [...documents].filter(([job]) => !cancelled.has(job)).map(([, document]) => document);
  const gone = [...documents].filter(([job]) => cancelled.has(job)).map(([, document]) => document);
  const visible = await sql`
    SELECT id FROM documents WHERE id = ANY(${sql.array(gone)}::text[]) AND active_generation IS NOT NULL`;
  stale += visible.length;
  const checked = await checkDocuments(fleet, kept);
  lost += checked.lost;
  stale += checked.doubled;
  reportFigures({
    promise: 'workers paused for two leases or more',
    ...{ n: pauses, lost, doubled: stale, stuck, worstRecoveryMs: worstMs },
    note: `${cancelled.size} of their jobs cancelled meanwhile`,
  });
  const { leftovers } = checked;
  expect({ lost, stale, stuck, leftovers, casualties: fleet.casualties() }).toEqual({
    ...{ lost: 0, stale: 0, stuck: 0, leftovers: [], casualties: [] },
  });
});
