import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { renderResultPage } from '../../src/bulk/result-page.ts';
import { cancelJob } from '../../src/jobs/operations.ts';
import { AppError } from '../../src/platform/errors.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { createTestRandom, type SeededRandom } from '../support/random.ts';
import { until } from '../support/until.ts';
import { submitTexts, textsOf } from './bulk-jobs.ts';
import { type Fleet, openFleet } from './fleet.ts';
import { checkDocuments, routeToUpstream, uploadText } from './ingest-jobs.ts';
import { reportFigures } from './report-figures.ts';
import { scaled } from './scaled.ts';

const BULK_RACES = 1_000;
const INGEST_RACES = 300;
/** Number of races that are needed to find the moment at which half of the jobs are done. */
const RACES_MIN = 100;
const CONCURRENCY = 16;
/**
 * Delay of the first cancel after the upstream's answer. Later ones adapt to the time at which half of the jobs are
 * done.
 */
const FIRST_CANCEL_MS = 40;

let fleet: Fleet;
afterEach(() => fleet.close());

interface RaceResult {
  readonly isCancelled: boolean;
  /** Id of a document or a bulk job. */
  readonly id: string;
}

/** Cancel jobs about when they finish. `one` gets the delay of the cancel after the upstream's answer. */
async function race(
  count: number,
  random: SeededRandom,
  one: (i: number, afterMs: number) => Promise<RaceResult>,
): Promise<RaceResult[]> {
  const results: RaceResult[] = [];
  let middleMs = FIRST_CANCEL_MS;
  const queue = Array.from({ length: count }, (_, i) => i).values();
  const runRaces = async () => {
    for (const i of queue) {
      const outcome = await one(i, random.int(2 * middleMs));
      middleMs = Math.max(1, middleMs * (outcome.isCancelled ? 1.05 : 0.95));
      results.push(outcome);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, runRaces));
  return results;
}

async function cancel(jobId: string): Promise<boolean> {
  const { operations: jobOperations } = fleet.appliance.jobs;
  try {
    return (await cancelJob(jobOperations, fleet.operator, jobId, { force: true })).detail === undefined;
  } catch (error) {
    if (error instanceof AppError && error.code === 'job_state_changed') return false;
    throw error;
  }
}

/** Return a function that waits until the upstream has answered for texts of this race. */
function answersByName(): (name: string) => Promise<void> {
  const waiting = new Map<string, () => void>();
  fleet.upstream.onAnswered = ({ texts }) => {
    const name = /race-\d+/.exec(texts[0] ?? '')?.[0] ?? '';
    waiting.get(name)?.();
    waiting.delete(name);
  };
  return (name) => new Promise((resolve) => waiting.set(name, resolve));
}

const allEnded = () =>
  until(
    async () =>
      (await fleet.appliance.sql`SELECT 1 FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')`).length === 0,
    { what: 'the end of all jobs' },
  );

it('bulk jobs cancelled while they finish end in one state, and cancelled ones show no vectors', async () => {
  fleet = await openFleet({ settings: { workers: { embed_concurrency: CONCURRENCY, lease_seconds: 30 } } });
  const { appliance, operator } = fleet;
  const answered = answersByName();
  const worker = appliance.jobs.worker('embed');
  await worker.start(new AbortController().signal);
  const results = await race(
    Math.max(RACES_MIN, scaled(BULK_RACES)),
    createTestRandom('cancel bulk jobs'),
    async (i, afterMs) => {
      const name = `race-${i}`;
      const answer = answered(name);
      const id = await submitTexts(fleet, textsOf(name, 3));
      await answer;
      await delay(afterMs);
      return { id, isCancelled: await cancel(id) };
    },
  );
  await allEnded();
  await worker.stop();
  const rows = await appliance.sql`SELECT id, status FROM jobs`;
  const states = new Map(rows.map((row) => [row['id'] as string, row['status'] as string]));
  let wrongState = 0;
  let lost = 0;
  let visible = 0;
  for (const { id, isCancelled } of results) {
    if (states.get(id) !== (isCancelled ? 'cancelled' : 'ready')) wrongState++;
    const page = await renderResultPage(appliance.bulk, operator, id, { offset: 0, limit: 10 }).catch(() => null);
    if (isCancelled && page !== null) visible++;
    if (!isCancelled && JSON.parse(String(page)).data.length !== 3) lost++;
  }
  const usage = await appliance.usage.summarize(operator, {});
  const cancelled = results.filter((each) => each.isCancelled).length;
  reportFigures({
    guarantee: 'bulk jobs cancelled while they finish',
    ...{ n: results.length, lost, doubled: visible + wrongState, stuck: 0, worstRecoveryMs: null },
    note: `${cancelled} cancelled, ${results.length - cancelled} ready`,
  });
  expect({ wrongState, lost, visible }).toEqual({ wrongState: 0, lost: 0, visible: 0 });
  expect(Math.min(cancelled, results.length - cancelled)).toBeGreaterThan(0);
  // A ready job counts in full, a cancelled one with the texts that it had stored.
  const ready = (results.length - cancelled) * 3;
  expect(usage.axes.embed_batch?.texts).toBeGreaterThanOrEqual(ready);
  expect(usage.axes.embed_batch?.texts).toBeLessThanOrEqual(results.length * 3);
  expect(await appliance.sql`SELECT 1 FROM usage_reservations`).toHaveLength(0);
});

it('ingests cancelled while they finish end in one state, and nothing of cancelled ones is found', async () => {
  fleet = await openFleet({ settings: { workers: { ingest_concurrency: CONCURRENCY, lease_seconds: 30 } } });
  await routeToUpstream(fleet);
  const { appliance, operator } = fleet;
  const answered = answersByName();
  const worker = appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  const results = await race(
    Math.max(RACES_MIN, scaled(INGEST_RACES)),
    createTestRandom('cancel ingests'),
    async (i, afterMs) => {
      const name = `race-${i}`;
      const answer = answered(name);
      const id = await uploadText(fleet, name);
      const [row] = await appliance.sql`SELECT id FROM jobs WHERE document_id = ${id}`;
      await answer;
      await delay(afterMs);
      return { id, isCancelled: await cancel(row?.['id'] as string) };
    },
  );
  await allEnded();
  await worker.stop();
  const rows = await appliance.sql`
    SELECT d.id, d.active_generation, j.status FROM documents d JOIN jobs j ON j.document_id = d.id`;
  const states = new Map(rows.map((row) => [row['id'] as string, row]));
  const cancelled = results.filter((each) => each.isCancelled).map((each) => each.id);
  const kept = results.filter((each) => !each.isCancelled).map((each) => each.id);
  const wrongState =
    cancelled.filter((id) => states.get(id)?.['status'] !== 'cancelled').length +
    kept.filter((id) => states.get(id)?.['status'] !== 'ready').length;
  const request = SearchRequest.parse({ query: 'findings about the estuary and its tides', top_k: 100 });
  const reply = await searchBucket(appliance.search, operator, 'default', request);
  const found = reply.results.filter((result) => cancelled.includes(result.document_id)).length;
  const visible = found + cancelled.filter((id) => states.get(id)?.['active_generation'] !== null).length;
  const checked = await checkDocuments(fleet, kept);
  reportFigures({
    guarantee: 'ingests cancelled while they finish',
    ...{ n: results.length, lost: checked.lost, doubled: visible + wrongState + checked.doubled, stuck: 0 },
    worstRecoveryMs: null,
    note: `${cancelled.length} cancelled, ${kept.length} ready`,
  });
  expect({ wrongState, visible, ...checked }).toEqual({
    wrongState: 0,
    visible: 0,
    lost: 0,
    doubled: 0,
    leftovers: [],
  });
  expect(Math.min(cancelled.length, kept.length)).toBeGreaterThan(0);
});
