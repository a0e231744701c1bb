import { setTimeout as delay } from 'node:timers/promises';
import type { JobKind } from '../../src/jobs/schema.ts';
import { postgresUrl } from '../../src/platform/postgres.ts';
import { openPostgresInterceptor } from '../support/postgres-interceptor.ts';
import type { SeededRandom } from '../support/random.ts';
import { until } from '../support/until.ts';
import { type FailPoint, holdAt } from './fail-points.ts';
import { type Fleet, LEASE_MS, UPSTREAM_KEYS } from './fleet.ts';

/** Time in which a worker must arrive at its fail point. After it the worker is killed anywhere. */
const ARRIVAL_MS = 5_000;
const ANYWHERE_MS = 1_500;
const CONCURRENT_WORKERS = 2;
/** Lost leases of a job after which one more makes it fail as a job that kills its worker. */
const KILLS_A_JOB = 2;
/** Time after which a job without a new claim is stuck. */
const STUCK_MS = 3 * LEASE_MS;

export interface Kills {
  readonly count: number;
  readonly byPoint: ReadonlyMap<string, number>;
  /** Fail points at which no worker ever arrived, of those that were tried twice or more: their statements have changed. */
  readonly neverReached: readonly string[];
  /** Times from a kill until every job of the killed worker was queued again or had ended. */
  readonly recoveriesMs: readonly number[];
  readonly stuck: number;
}

/**
 * Start workers, two at a time, and kill each at a random fail point, `count` times. Half of them are registered on
 * another host, so that their death is only detected by the end of their leases.
 */
export async function killWorkers(
  fleet: Fleet,
  random: SeededRandom,
  kind: JobKind,
  points: readonly FailPoint[],
  count: number,
): Promise<Kills> {
  const { sql } = fleet.appliance;
  const command = kind === 'bulk' ? 'embed' : 'ingest';
  const listeners = new Map<string, () => void>();
  fleet.upstream.onAnswered = ({ apiKey }) => listeners.get(apiKey ?? '')?.();
  const byPoint = new Map<string, number>();
  const triesByPoint = new Map<string, number>();
  const recoveries: Promise<number | null>[] = [];
  let left = count;

  const runAndKill = async (upstreamKey: string) => {
    const interceptor = await openPostgresInterceptor(fleet.connection);
    const point = random.pick(points);
    const isRemote = random.int(2) === 1;
    const anywhereMs = random.int(ANYWHERE_MS);
    const nextArrival = holdAt(point, interceptor, (listener) => listeners.set(upstreamKey, listener));
    const worker = await fleet.spawn(['worker', command], {
      databaseUrl: postgresUrl(interceptor.connection),
      upstreamKey,
    });
    const rows = await sql`SELECT id FROM workers WHERE pid = ${worker.pid}`;
    const ids = rows.map((row) => row['id'] as string);
    if (isRemote) await sql`UPDATE workers SET host = 'another/host' WHERE id = ANY(${sql.array(ids)}::text[])`;
    const holds = () => sql`
      SELECT id, fence, crash_count FROM jobs
      WHERE worker_id = ANY(${sql.array(ids)}::text[]) AND status IN ('extracting', 'chunking', 'embedding', 'indexing')`;
    let name = point.name;
    if (point.statement === null && !point.isUpstream) {
      await until(async () => (await holds()).length > 0, { withinMs: ARRIVAL_MS }).catch(() => undefined);
      await delay(anywhereMs);
    }
    for (;;) {
      const held = point.statement === null && !point.isUpstream ? null : await nextArrival(ARRIVAL_MS);
      if (held === null) name = 'anywhere';
      if ((await holds()).every((job) => (job['crash_count'] as number) < KILLS_A_JOB)) break;
      held?.release();
      await delay(held === null ? 200 : 20);
    }
    await worker.end('SIGKILL');
    const killedMs = performance.now();
    await interceptor.close();
    const lost = await holds();
    byPoint.set(name, (byPoint.get(name) ?? 0) + 1);
    triesByPoint.set(point.name, (triesByPoint.get(point.name) ?? 0) + 1);
    if (lost.length === 0) return;
    const taken = until(
      async () => {
        const now =
          await sql`SELECT id, fence, status FROM jobs WHERE id = ANY(${sql.array(lost.map((job) => job['id']))}::text[])`;
        return now.every(({ id, fence, status }) => {
          const before = lost.find((job) => job['id'] === id)?.['fence'] as number;
          return (fence as number) > before || ['queued', 'ready', 'failed', 'cancelled'].includes(status as string);
        });
      },
      { withinMs: STUCK_MS, everyMs: 50 },
    );
    recoveries.push(
      taken.then(
        () => performance.now() - killedMs,
        () => null,
      ),
    );
  };
  const runWorkers = async (upstreamKey: string) => {
    while (left-- > 0) await runAndKill(upstreamKey);
  };
  await Promise.all(UPSTREAM_KEYS.slice(1, 1 + CONCURRENT_WORKERS).map(runWorkers));
  const worker = await fleet.spawn(['worker', command]);
  const measured = await Promise.all(recoveries);
  await worker.end('SIGTERM');
  return {
    count,
    byPoint,
    neverReached: [...triesByPoint].flatMap(([name, tries]) => (tries > 1 && !byPoint.has(name) ? [name] : [])),
    recoveriesMs: measured.filter((ms) => ms !== null),
    stuck: measured.filter((ms) => ms === null).length,
  };
}
