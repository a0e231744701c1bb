import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { cancelJob } from '../../src/jobs/operations.ts';
import type { JobKind } from '../../src/jobs/schema.ts';
import { postgresUrl } from '../../src/platform/postgres.ts';
import { openPostgresWiretap, type PostgresWiretap } from '../support/postgres-wiretap.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';
import { checkBulkJob, submitTexts, textsOf } from './bulk-jobs.ts';
import { scaled, throwDice } from './dice.ts';
import { BULK_POINTS, type FailPoint, type Held, holdAt, INGEST_POINTS, LOCK_POINT } from './fail-points.ts';
import { type Fleet, LEASE_MS, openFleet, UPSTREAM_KEYS } from './fleet.ts';
import { checkDocuments, routeToUpstream, uploadText } from './ingest-jobs.ts';
import { reportFigures } from './report-figures.ts';

const PAUSES = 20;
/** Paused at the same time, half of them of each kind. */
const AT_ONCE = 10;
const TEXTS = 2_000;
const REACH_MS = 30_000;
/** A lock on an index that its holder does not give up is taken from it after this. */
const LOCK_MS = 25_000;

let fleet: Fleet;
afterEach(() => fleet.close());

interface Victim {
  readonly worker: ServiceProcess;
  readonly tap: PostgresWiretap;
  readonly point: FailPoint;
  readonly held: Held | null;
  /** Jobs that it had when it was paused. */
  readonly jobs: readonly { id: string; kind: JobKind; fence: number }[];
}

it('workers that are paused for two leases write nothing when they come back', async () => {
  fleet = await openFleet();
  await routeToUpstream(fleet);
  const { sql } = fleet.appliance;
  const dice = throwDice('pause workers');
  fleet.upstream.decide = () => ({ kind: 'delay', ms: 20 + dice.int(40) });
  const listeners = new Map<string, () => void>();
  fleet.upstream.onAnswered = ({ apiKey }) => listeners.get(apiKey ?? '')?.();
  const bulkJobs = new Map<string, string>();
  const documents = new Map<string, string>(); // by job
  const cancelled = new Set<string>();
  const unfinished = () => sql`SELECT id FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')`;
  let worstMs = 0;
  let pauses = 0;
  let stuck = 0;

  const pauseOne = async (kind: JobKind, upstreamKey: string, point: FailPoint): Promise<Victim> => {
    const tap = await openPostgresWiretap(fleet.connection);
    const nextArrival = holdAt(point, tap, (listener) => listeners.set(upstreamKey, listener));
    const command = kind === 'bulk' ? 'embed' : 'ingest';
    const worker = await fleet.spawn(['worker', command], { databaseUrl: postgresUrl(tap.connection), upstreamKey });
    const held = point.statement === null && !point.isUpstream ? null : await nextArrival(REACH_MS);
    const rows = () => sql<{ id: string; kind: JobKind; fence: number }[]>`
      SELECT jobs.id, jobs.kind, fence FROM jobs JOIN workers ON workers.id = worker_id
      WHERE pid = ${worker.pid} AND status IN ('extracting', 'chunking', 'embedding', 'indexing')`;
    if (held === null) await until(async () => (await rows()).length > 0, { withinMs: REACH_MS });
    worker.signal('SIGSTOP');
    return { worker, tap, point, held, jobs: await rows() };
  };

  const round = async (count: number) => {
    const kinds = Array.from({ length: count }, (_, i): JobKind => (i % 2 === 0 ? 'bulk' : 'ingest'));
    for (const [i, kind] of kinds.entries()) {
      const name = `round ${pauses} thing ${i}`;
      for (const copy of ['a', 'b']) {
        if (kind === 'bulk') {
          const id = await submitTexts(fleet, textsOf(`${name}${copy}`, TEXTS));
          bulkJobs.set(id, `${name}${copy}`);
        } else {
          const documentId = await uploadText(fleet, `${name}${copy}`.replaceAll(' ', '-'));
          const [row] = await sql`SELECT id FROM jobs WHERE document_id = ${documentId}`;
          documents.set(row?.['id'] as string, documentId);
        }
      }
    }
    // One at a time to its fail point: what it has claimed by then is its own.
    const victims: Victim[] = [];
    for (const [i, kind] of kinds.entries()) {
      // One of each round with the lock on the index in its hand.
      const point = i === 1 ? LOCK_POINT : dice.pick(kind === 'bulk' ? BULK_POINTS : INGEST_POINTS);
      victims.push(await pauseOne(kind, UPSTREAM_KEYS[1 + (i % 4)] as string, point));
    }
    pauses += count;
    const pausedMs = performance.now();
    const others = await Promise.all([fleet.spawn(['worker', 'embed']), fleet.spawn(['worker', 'ingest'])]);
    for (const { jobs } of victims) {
      for (const { id } of jobs) {
        if (dice.int(4) !== 0) continue;
        const outcome = await cancelJob(fleet.appliance.jobOperations, fleet.operator, id, { force: true });
        if (outcome.detail === undefined) cancelled.add(id);
      }
    }
    await until(async () => (await unfinished()).length === 0, { withinMs: LOCK_MS, everyMs: 100 }).catch(
      () => stuck++,
    );
    worstMs = Math.max(worstMs, performance.now() - pausedMs);
    await delay(Math.max(0, 2 * LEASE_MS - (performance.now() - pausedMs)));
    // What is dead is swept, so that late writes find nothing of theirs.
    const reaper = fleet.appliance.reaper({ everyMs: 200 });
    await reaper.start(new AbortController().signal);
    for (const { worker, held } of victims) {
      worker.signal('SIGCONT');
      held?.letGo();
    }
    await until(async () => (await unfinished()).length === 0, { withinMs: LOCK_MS }).catch(() => stuck++);
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
