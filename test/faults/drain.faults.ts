import { afterEach, expect, it } from 'vitest';
import type { JobKind } from '../../src/jobs/schema.ts';
import { until } from '../support/until.ts';
import { checkBulkJob, submitTexts, textsOf } from './bulk-jobs.ts';
import { type Fleet, openFleet, TINY, UPSTREAM_KEYS } from './fleet.ts';
import { checkDocuments, routeToUpstream, uploadText } from './ingest-jobs.ts';
import { reportFigures } from './report-figures.ts';

const EXIT_MS_MAX = 25_000;
const RECLAIM_MS_MAX = 2_000;
const [, HANGING = '', ANSWERED = ''] = UPSTREAM_KEYS;
const TEXTS = 1_000;
/** Number of texts of a bulk job that are answered before the upstream hangs. */
const ANSWERED_TEXTS = 300;

const fleets: Fleet[] = [];
afterEach(() => Promise.all(fleets.splice(0).map((fleet) => fleet.close())));

interface Drained {
  readonly exitMs: number;
  /** Time from the release of each job until its claim by another process. */
  readonly reclaimsMs: readonly number[];
  /** Attempts of jobs that the drain used up. */
  readonly spent: number;
  readonly lost: number;
  readonly doubled: number;
}

/** Stop a process by SIGTERM while all its calls wait for an upstream that hangs, with idle workers beside it. */
async function drain(args: readonly string[], kinds: readonly JobKind[]): Promise<Drained> {
  const fleet = await openFleet({ timeoutSeconds: 120 });
  fleets.push(fleet);
  await routeToUpstream(fleet);
  const { sql } = fleet.appliance;
  fleet.upstream.decide = ({ apiKey, texts }) => {
    const place = Number(/ text (\d+)$/.exec(texts[0] ?? '')?.[1] ?? Number.NaN);
    return apiKey === HANGING && !(place < ANSWERED_TEXTS) ? { kind: 'stall' } : null;
  };
  const drained = await fleet.spawn(args, { upstreamKey: HANGING });
  const bulk = new Map<string, string>();
  const documents: string[] = [];
  for (const name of ['first', 'second']) {
    if (kinds.includes('bulk')) bulk.set(await submitTexts(fleet, textsOf(name, TEXTS)), name);
    if (kinds.includes('ingest')) documents.push(await uploadText(fleet, name));
  }
  const jobs = () => sql<{ id: string; status: string; fence: number; attempts: number }[]>`
    SELECT id, status, fence, retry_count + crash_count AS attempts FROM jobs`;
  await until(async () => (await jobs()).every((job) => job.status === 'embedding'), { what: 'claims' });
  await until(async () =>
    fleet.upstream.calls.some((call) => !call.texts[0]?.includes(' text ') || call.texts[0].endsWith(' text 300')),
  );
  const key = await fleet.key({ scopes: ['embed'] });
  const request = drained.ready['url'] && hangingRequest(drained.ready['url'], key);
  const others = [
    await fleet.spawn(['worker', 'embed'], { upstreamKey: ANSWERED }),
    await fleet.spawn(['worker', 'ingest'], { upstreamKey: ANSWERED }),
  ];
  const fences = new Map((await jobs()).map((job) => [job.id, job.fence]));
  const exit = drained.end('SIGTERM');
  const releasedMs = new Map<string, number>();
  const reclaimedMs = new Map<string, number>();
  await until(
    async () => {
      for (const { id, status, fence } of await jobs()) {
        const isReclaimed = fence > (fences.get(id) as number);
        if ((status === 'queued' || isReclaimed) && !releasedMs.has(id)) releasedMs.set(id, performance.now());
        if (isReclaimed && !reclaimedMs.has(id)) reclaimedMs.set(id, performance.now());
      }
      return reclaimedMs.size === fences.size;
    },
    { withinMs: EXIT_MS_MAX + 10_000, everyMs: 10, what: 'the claim of all jobs by other workers' },
  );
  const exitMs = await exit;
  expect(drained.ended(), drained.stderr()).toEqual({ code: 0, signal: null });
  if (request) expect([503, 'cut off']).toContain(await request);
  await until(async () => (await jobs()).every((job) => job.status === 'ready'), { what: 'the end of all jobs' });
  const spent = (await jobs()).reduce((sum, job) => sum + job.attempts, 0);
  await Promise.all(others.map((worker) => worker.end('SIGTERM')));
  const checked = await checkDocuments(fleet, documents);
  expect(checked.leftovers).toEqual([]);
  expect(fleet.unexpectedExits()).toEqual([]);
  let { lost, doubled } = checked;
  for (const [id, name] of bulk) {
    const faults = await checkBulkJob(fleet, id, textsOf(name, TEXTS));
    lost += faults.lost;
    doubled += faults.doubled;
  }
  const reclaimsMs = [...reclaimedMs].map(([id, ms]) => ms - (releasedMs.get(id) as number));
  return { exitMs, reclaimsMs, spent, lost, doubled };
}

async function hangingRequest(url: string, key: string): Promise<number | string> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ input: 'a request that hangs', model: TINY.id });
  return fetch(`${url}/v1/embeddings`, { method: 'POST', headers, body }).then(
    (reply) => reply.status,
    () => 'cut off',
  );
}

it('a process that gets SIGTERM while its upstream hangs releases its jobs, and other workers claim them at once', async () => {
  const drains = await Promise.all([
    drain(['worker', 'embed'], ['bulk']),
    drain(['worker', 'ingest'], ['ingest']),
    drain(['serve', '--port', '0'], ['bulk', 'ingest']),
  ]);
  const sum = (of: (each: Drained) => number) => drains.reduce((total, each) => total + of(each), 0);
  const [lost, doubled, spent] = [sum((each) => each.lost), sum((each) => each.doubled), sum((each) => each.spent)];
  const exitMs = Math.max(...drains.map((each) => each.exitMs));
  const reclaimMs = Math.max(...drains.flatMap((each) => each.reclaimsMs));
  reportFigures({
    guarantee: 'drain with an upstream that hangs',
    ...{ n: drains.length, lost, doubled, stuck: 0, worstRecoveryMs: reclaimMs },
    note: `exit in ${(exitMs / 1000).toFixed(1)} s at most, ${spent} attempts spent`,
  });
  expect({ lost, doubled, spent }).toEqual({ lost: 0, doubled: 0, spent: 0 });
  expect(exitMs).toBeLessThan(EXIT_MS_MAX);
  expect(reclaimMs).toBeLessThan(RECLAIM_MS_MAX);
});
