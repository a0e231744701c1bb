import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { cancelJob } from '../../src/jobs/operations.ts';
import type { JobKind } from '../../src/jobs/schema.ts';
import { AppError } from '../../src/platform/errors.ts';
import { mapPostgresError, postgresUrl } from '../../src/platform/postgres.ts';
import { openPostgresInterceptor, type PostgresInterceptor } from '../support/postgres-interceptor.ts';
import { createTestRandom } from '../support/random.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';
import { checkBulkJob, submitTexts, textsOf } from './bulk-jobs.ts';
import { BULK_POINTS, type FailPoint, type HeldWorker, holdAt, INGEST_POINTS, LOCK_POINT } from './fail-points.ts';
import { type Fleet, LEASE_MS, openFleet, UPSTREAM_KEYS } from './fleet.ts';
import { checkDocuments, routeToUpstream, uploadText } from './ingest-jobs.ts';
import { reportFigures } from './report-figures.ts';
import { scaled } from './scaled.ts';

const PAUSES = 20;
/** Workers that are paused at the same time, half of them of each kind. */
const CONCURRENT_PAUSES = 10;
const TEXTS = 2_000;
const ARRIVAL_MS = 30_000;
/** Time in which locks of paused processes end: PostgreSQL ends each after 10 s, two in a chain one after the other. */
const LOCKS_MS = 40_000;
/** Lost leases of a job after which one more makes it fail as a job that kills its worker. */
const LOST_LEASES_MAX = 2;

let fleet: Fleet;
afterEach(() => fleet.close());

interface PausedWorker {
  readonly worker: ServiceProcess;
  readonly interceptor: PostgresInterceptor;
  readonly point: FailPoint;
  readonly held: HeldWorker | null;
  /** Jobs of the worker when it was paused. */
  readonly jobs: readonly { id: string; kind: JobKind; fence: number }[];
}

/** Pause a worker between two statements. In the middle of one no timeout of PostgreSQL runs, so that is not tested. */
async function pauseBetweenStatements(worker: ServiceProcess, interceptor: PostgresInterceptor): Promise<void> {
  await until(
    async () => {
      worker.signal('SIGSTOP');
      await delay(20); // Data that is already sent arrives.
      if (!interceptor.isMidStatement()) return true;
      worker.signal('SIGCONT');
      return false;
    },
    { everyMs: 5, what: 'a pause between two statements' },
  );
}

it('workers that are paused for two leases write nothing when they resume', async () => {
  fleet = await openFleet();
  await routeToUpstream(fleet);
  const { sql } = fleet.appliance;
  const random = createTestRandom('pause workers');
  fleet.upstream.decide = () => ({ kind: 'delay', ms: 20 + random.int(40) });
  const listeners = new Map<string, () => void>();
  fleet.upstream.onAnswered = ({ apiKey }) => listeners.get(apiKey ?? '')?.();
  const bulkJobs = new Map<string, string>();
  /** Document by job. */
  const documents = new Map<string, string>();
  const cancelled = new Set<string>();
  const unfinished = () => sql`SELECT id FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')`;
  let worstMs = 0;
  let pauses = 0;
  let stuck = 0;

  /** Submit more jobs than one worker claims at a time. */
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

  const pauseOne = async (kind: JobKind, upstreamKey: string, point: FailPoint): Promise<PausedWorker> => {
    const interceptor = await openPostgresInterceptor(fleet.connection);
    const nextArrival = holdAt(point, interceptor, (listener) => listeners.set(upstreamKey, listener));
    const command = kind === 'bulk' ? 'embed' : 'ingest';
    const worker = await fleet.spawn(['worker', command], {
      databaseUrl: postgresUrl(interceptor.connection),
      upstreamKey,
    });
    const rows = () => sql<{ id: string; kind: JobKind; fence: number; crash_count: number }[]>`
      SELECT jobs.id, jobs.kind, fence, crash_count FROM jobs JOIN workers ON workers.id = worker_id
      WHERE pid = ${worker.pid} AND status IN ('extracting', 'chunking', 'embedding', 'indexing')`;
    const isAnywhere = point.statement === null && !point.isUpstream;
    for (;;) {
      const held = isAnywhere ? null : await nextArrival(ARRIVAL_MS);
      if (held === null) await until(async () => (await rows()).length > 0, { withinMs: ARRIVAL_MS });
      await pauseBetweenStatements(worker, interceptor);
      const jobs = await rows();
      if (jobs.every((job) => job.crash_count < LOST_LEASES_MAX)) return { worker, interceptor, point, held, jobs };
      worker.signal('SIGCONT');
      held?.release();
      await delay(50);
    }
  };

  /** Cancel a job, with retries while a paused process holds its row. */
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
    const paused = await Promise.all(
      kinds.map((kind, i) => {
        // One worker of each round is paused while it holds the lock on the index.
        const point = i === 1 ? LOCK_POINT : random.pick(kind === 'bulk' ? BULK_POINTS : INGEST_POINTS);
        return pauseOne(kind, UPSTREAM_KEYS[1 + i] as string, point);
      }),
    );
    pauses += count;
    const pausedMs = performance.now();
    const others = await Promise.all([fleet.spawn(['worker', 'embed']), fleet.spawn(['worker', 'ingest'])]);
    for (const { id } of paused.flatMap(({ jobs }) => jobs)) {
      if (random.int(4) === 0 && (await cancel(id)) === 'yes') cancelled.add(id);
    }
    await until(async () => (await unfinished()).length === 0, { withinMs: LOCKS_MS, everyMs: 100 }).catch(
      () => stuck++,
    );
    worstMs = Math.max(worstMs, performance.now() - pausedMs);
    await delay(Math.max(0, 2 * LEASE_MS - (performance.now() - pausedMs)));
    // Dead generations are swept before the workers resume, so that late writes find no rows of theirs.
    const reaper = fleet.appliance.reaper({ everyMs: 200 });
    await reaper.start(new AbortController().signal);
    for (const { worker, interceptor, held } of paused) {
      interceptor.listener = null;
      worker.signal('SIGCONT');
      held?.release();
    }
    await until(async () => (await unfinished()).length === 0, { withinMs: LOCKS_MS }).catch(() => stuck++);
    // The drain of the workers ends their current work.
    await Promise.all(paused.map(({ worker }) => worker.end('SIGTERM')));
    await Promise.all(paused.map(({ interceptor }) => interceptor.close()));
    await Promise.all(others.map((worker) => worker.end('SIGTERM')));
    await reaper.stop();
  };
  for (let left = scaled(PAUSES); left > 0; left -= CONCURRENT_PAUSES) await round(Math.min(left, CONCURRENT_PAUSES));

  let lost = 0;
  let stale = 0;
  for (const [id, name] of bulkJobs) {
    if (cancelled.has(id)) {
      const [row] = await sql`SELECT status FROM jobs WHERE id = ${id}`;
      if (row?.['status'] !== 'cancelled') stale++;
      continue;
    }
    const faults = await checkBulkJob(fleet, id, textsOf(name, TEXTS));
    lost += faults.lost;
    stale += faults.doubled;
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
    guarantee: 'workers paused for two leases or more',
    ...{ n: pauses, lost, doubled: stale, stuck, worstRecoveryMs: worstMs },
    note: `${cancelled.size} of their jobs cancelled meanwhile`,
  });
  const { leftovers } = checked;
  expect({ lost, stale, stuck, leftovers, unexpectedExits: fleet.unexpectedExits() }).toEqual({
    ...{ lost: 0, stale: 0, stuck: 0, leftovers: [], unexpectedExits: [] },
  });
});
