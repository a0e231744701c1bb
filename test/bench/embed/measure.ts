import { cpuMsOf } from './child.ts';
import { Clients, type Target } from './client.ts';
import type { Row, TargetName } from './rows.ts';

/** One round of one row. */
interface Sample {
  readonly perSecond: number;
  /** Of the target's process for a request; null where no process is known. */
  readonly cpuMs: number | null;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Over the p50 of the floor's row in the same round. */
  readonly addedMs: number | null;
}

/** The medians of all rounds. */
export type Figures = Sample;

/** Each round begins with requests that are not counted. */
const WARM_UP_SHARE = 0.3;

/**
 * Every row in every round, one after the other, so that what else the machine does meanwhile hits all rows alike. A
 * first round, twice as long, warms up and is not counted.
 *
 * @returns the figures by the row's id
 */
export async function measure(
  rows: readonly Row[],
  targets: ReadonlyMap<TargetName, Target>,
  options: { rounds: number; roundMs: number; onRound: (round: number) => void },
): Promise<ReadonlyMap<string, Figures>> {
  const loads = rows.map((row) => {
    const target = targets.get(row.target);
    if (!target) throw new Error(`${row.id} has no target`);
    return { row, target, clients: new Clients(target, row.inFlight), samples: [] as Sample[] };
  });
  try {
    for (const { row, clients } of loads) row.check?.(await clients.send(row.aim()));
    for (const { row, clients } of loads) await clients.drive(row.aim, 2 * options.roundMs);
    for (let round = 1; round <= options.rounds; round++) {
      options.onRound(round);
      for (const { row, target, clients, samples } of loads) {
        await clients.drive(row.aim, WARM_UP_SHARE * options.roundMs);
        const sample = await sampleOf(row, target, clients, options.roundMs);
        const floor = loads.find(({ row: each }) => each.id === row.floor)?.samples.at(-1);
        samples.push({ ...sample, addedMs: floor ? sample.p50Ms - floor.p50Ms : null });
      }
    }
  } finally {
    await Promise.all(loads.map(({ clients }) => clients.close()));
  }
  return new Map(loads.map(({ row, samples }) => [row.id, mediansOf(samples)]));
}

async function sampleOf(row: Row, { pid }: Target, clients: Clients, ms: number): Promise<Sample> {
  const cpuBefore = pid === null ? 0 : cpuMsOf(pid);
  const beganMs = performance.now();
  const times = await clients.drive(row.aim, ms);
  const tookMs = performance.now() - beganMs;
  const cpu = pid === null ? null : (cpuMsOf(pid) - cpuBefore) / times.length;
  const at = (share: number) => times[Math.floor(times.length * share)] as number;
  return { perSecond: (times.length / tookMs) * 1000, cpuMs: cpu, p50Ms: at(0.5), p99Ms: at(0.99), addedMs: null };
}

function mediansOf(samples: readonly Sample[]): Figures {
  return {
    perSecond: median(samples.map(({ perSecond }) => perSecond)) ?? 0,
    cpuMs: median(samples.map(({ cpuMs }) => cpuMs)),
    p50Ms: median(samples.map(({ p50Ms }) => p50Ms)) ?? 0,
    p99Ms: median(samples.map(({ p99Ms }) => p99Ms)) ?? 0,
    addedMs: median(samples.map(({ addedMs }) => addedMs)),
  };
}

function median(values: readonly (number | null)[]): number | null {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle] ?? null;
  return sorted.length === 0 ? null : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}
