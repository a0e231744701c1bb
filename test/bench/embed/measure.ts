import { cpuMsOf } from './child.ts';
import { Clients, type Target } from './client.ts';
import type { Row, TargetName } from './rows.ts';

/** Figures of one round of one row. */
interface Sample {
  readonly perSecond: number;
  /** CPU time per request of the target's process, or null if the process is unknown. */
  readonly cpuMs: number | null;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Difference to the floor row's p50 in the same round. */
  readonly addedMs: number | null;
  /** CPU time as a multiple of the bare proxy row's, in the same round. */
  readonly cpuTimes: number | null;
  /** CPU time as a multiple of the bare proxy's with the client's request, in the same round. */
  readonly cpuTimesOfClient: number | null;
}

/** Medians of all rounds. */
export type Figures = Sample;

/** Length of the warm-up before each round, relative to the round. */
const WARM_UP_SHARE = 0.3;

/**
 * Measure every row in every round, sequentially, so that other load on the machine affects all rows equally. A first
 * round of twice the length is a warm-up and isn't counted.
 * @returns figures by row id
 */
export async function measure(
  rows: readonly Row[],
  targets: ReadonlyMap<TargetName, Target>,
  options: { rounds: number; roundMs: number; onRound: (round: number) => void },
): Promise<ReadonlyMap<string, Figures>> {
  const loads = rows.map((row) => {
    const target = targets.get(row.target);
    if (!target) throw new Error(`${row.id} has no target`);
    return { row, target, clients: new Clients(target, row.concurrency), samples: [] as Sample[] };
  });
  try {
    for (const { row, clients } of loads) row.check?.(await clients.send(row.makeRequest()));
    for (const { row, clients } of loads) await clients.drive(row.makeRequest, 2 * options.roundMs);
    for (let round = 1; round <= options.rounds; round++) {
      options.onRound(round);
      for (const { row, target, clients, samples } of loads) {
        await clients.drive(row.makeRequest, WARM_UP_SHARE * options.roundMs);
        const sample = await sampleOf(row, target, clients, options.roundMs);
        const floor = loads.find(({ row: each }) => each.id === row.floor)?.samples.at(-1);
        const timesOf = (id: string | undefined) => {
          const cpuFloor = loads.find(({ row: each }) => each.id === id)?.samples.at(-1)?.cpuMs;
          return cpuFloor && sample.cpuMs !== null ? sample.cpuMs / cpuFloor : null;
        };
        samples.push({
          ...sample,
          addedMs: floor ? sample.p50Ms - floor.p50Ms : null,
          cpuTimes: timesOf(row.cpuFloor),
          cpuTimesOfClient: timesOf(row.cpuFloorOfClient),
        });
      }
    }
  } finally {
    await Promise.all(loads.map(({ clients }) => clients.close()));
  }
  return new Map(loads.map(({ row, samples }) => [row.id, mediansOf(samples)]));
}

async function sampleOf(
  row: Row,
  { pid }: Target,
  clients: Clients,
  ms: number,
): Promise<Omit<Sample, 'addedMs' | 'cpuTimes' | 'cpuTimesOfClient'>> {
  const cpuBefore = pid === null ? 0 : cpuMsOf(pid);
  const beganMs = performance.now();
  const times = await clients.drive(row.makeRequest, ms);
  const tookMs = performance.now() - beganMs;
  const cpu = pid === null ? null : (cpuMsOf(pid) - cpuBefore) / times.length;
  const at = (share: number) => times[Math.floor(times.length * share)] as number;
  return { perSecond: (times.length / tookMs) * 1000, cpuMs: cpu, p50Ms: at(0.5), p99Ms: at(0.99) };
}

function mediansOf(samples: readonly Sample[]): Figures {
  return {
    perSecond: median(samples.map(({ perSecond }) => perSecond)) ?? 0,
    cpuMs: median(samples.map(({ cpuMs }) => cpuMs)),
    p50Ms: median(samples.map(({ p50Ms }) => p50Ms)) ?? 0,
    p99Ms: median(samples.map(({ p99Ms }) => p99Ms)) ?? 0,
    addedMs: median(samples.map(({ addedMs }) => addedMs)),
    cpuTimes: median(samples.map(({ cpuTimes }) => cpuTimes)),
    cpuTimesOfClient: median(samples.map(({ cpuTimesOfClient }) => cpuTimesOfClient)),
  };
}

function median(values: readonly (number | null)[]): number | null {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle] ?? null;
  return sorted.length === 0 ? null : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}
