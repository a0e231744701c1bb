import type { Figures } from './measure.ts';
import { ONE_TEXT, PROJECTED_TIMES_MAX, type Row } from './rows.ts';

const COLUMNS = [
  ['concurrent', 11],
  ['requests/s', 11],
  ['CPU ms', 9],
  ['bound', 8],
  ['x proxy', 9],
  ['bound', 6],
  ['p50 ms', 9],
  ['p99 ms', 9],
  ['floor p50', 10],
  ['added', 9],
  ['bound', 7],
] as const;
const NAME_WIDTH = 42;

/** Print one table with the rows of each group under its name. Mark a figure above its limit with `!`. */
export function printTable(rows: readonly Row[], figures: ReadonlyMap<string, Figures>): void {
  print(`embed    ${'case'.padEnd(NAME_WIDTH)}${COLUMNS.map(([name, width]) => name.padStart(width)).join('')}`);
  let group = '';
  for (const row of rows) {
    const own = figures.get(row.id);
    if (!own) continue;
    if (row.group !== group) print(`         ${row.group}`);
    group = row.group;
    const { cpuMsMax, cpuTimesMax, addedMsMax } = row;
    const floor = row.floor === undefined ? null : (figures.get(row.floor)?.p50Ms ?? null);
    const cells = [
      String(row.concurrency),
      own.perSecond.toFixed(0),
      show(own.cpuMs, cpuMsMax),
      bound(cpuMsMax),
      show(own.cpuTimes, cpuTimesMax),
      bound(cpuTimesMax),
      show(own.p50Ms),
      show(own.p99Ms),
      show(floor),
      show(own.addedMs, addedMsMax),
      bound(addedMsMax),
    ];
    const columns = cells.map((cell, index) => cell.padStart(COLUMNS[index]?.[1] ?? 0)).join('');
    print(`           ${row.name.padEnd(NAME_WIDTH - 2)}${columns}`);
  }
  for (const { id, cpuFloorOfClient, cpuTimesMax } of rows) {
    const own = figures.get(id);
    if (!own?.cpuTimesOfClient || !own.cpuTimes || cpuFloorOfClient === undefined) continue;
    const goal = cpuTimesMax === undefined ? '' : ` (goal <= ${cpuTimesMax})`;
    print(
      `embed    CPU for ${id}: ${own.cpuTimes.toFixed(2)}x of a bare proxy that forwards base64${goal}, ` +
        `${own.cpuTimesOfClient.toFixed(2)}x of one that forwards the numbers which the client gets`,
    );
  }
  const projected = figures.get(ONE_TEXT.projected)?.addedMs;
  const plain = figures.get(ONE_TEXT.plain)?.addedMs;
  if (projected && plain) {
    const times = projected / plain;
    print(
      `embed    latency added to 1 text by the service: projected ${projected.toFixed(3)} ms, without a map ` +
        `${plain.toFixed(3)} ms: ${times.toFixed(2)}x (goal <= ${PROJECTED_TIMES_MAX})`,
    );
  }
}

function show(value: number | null, max = Number.POSITIVE_INFINITY): string {
  if (value === null) return '';
  const digits = Math.abs(value) < 10 ? 3 : 1;
  return `${value.toFixed(digits)}${value > max ? '!' : ' '}`;
}

function bound(max: number | undefined): string {
  return max === undefined ? '' : `<= ${max}`;
}

function print(line: string): void {
  console.log(line.trimEnd());
}
