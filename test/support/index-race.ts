import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Sql } from '../../src/platform/postgres.ts';
import { getIndexTable } from '../../src/search/index-store.ts';
import { LanceTables } from '../../src/search/lance.ts';

export const RACE_BUCKET = 'bkt_race';

/** Where the index is, as `LanceTables` takes it. */
export type IndexPlace = readonly [uri: string, storageOptions?: Record<string, string>];

export interface RaceTask {
  readonly role: 'writer' | 'reader';
  readonly databaseUrl: string;
  readonly place: IndexPlace;
  /** Tells writers apart; of a reader 0. */
  readonly number: number;
  readonly operations: number;
  readonly seed: number;
}

export interface RaceReport {
  readonly operations: number;
  readonly seconds: number;
  /** Commits to the table, of writing and of settling. */
  readonly versions: number;
  readonly rowsExpected: number;
  readonly rowsLost: number;
  readonly rowsDoubled: number;
  /** Rows of what was dropped, or never written. */
  readonly rowsLeftOver: number;
  /** How often the reader read the whole table while it was written, and what was wrong with it. */
  readonly reads: number;
  readonly readFaults: readonly string[];
}

/** What a process of the race says to us. */
export type RaceMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done' }
  | { readonly kind: 'reads'; readonly reads: number; readonly faults: string[] };

/**
 * Two processes write to one bucket's index, appending and dropping at random, while a third reads all of it over and
 * over. What each has acknowledged stands in a ledger in PostgreSQL, against which the reader holds what it sees, and we
 * what is left in the end.
 */
export async function runIndexRace(
  sql: Sql,
  options: { databaseUrl: string; place: IndexPlace; operations: number; seed: number },
): Promise<RaceReport> {
  const { operations, ...common } = options;
  await sql`CREATE TABLE race_ledger (generation bigint PRIMARY KEY, document text, chunks int, state text)`;
  const start = (role: RaceTask['role'], number: number) =>
    startProcess({ ...common, role, number, operations: Math.ceil(operations / 2) });
  const processes = await Promise.all([start('writer', 1), start('writer', 2), start('reader', 0)]);
  try {
    const [first, second, reader] = processes as [RaceProcess, RaceProcess, RaceProcess];
    const beganMs = performance.now();
    for (const { child } of processes) child.send('go');
    await Promise.all([first.hears('done'), second.hears('done')]);
    const seconds = (performance.now() - beganMs) / 1000;
    reader.child.send('stop');
    const read = await reader.hears('reads');
    return {
      ...{ operations, seconds, reads: read.reads, readFaults: read.faults },
      ...(await compare(sql, options.place)),
    };
  } finally {
    for (const { child } of processes) child.kill('SIGKILL');
  }
}

interface RaceProcess {
  readonly child: ChildProcess;
  hears<K extends RaceMessage['kind']>(kind: K): Promise<Extract<RaceMessage, { kind: K }>>;
}

async function startProcess(task: RaceTask): Promise<RaceProcess> {
  const child = fork(new URL('./index-race-child.ts', import.meta.url), [JSON.stringify(task)], {
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  const heard = new Map<string, RaceMessage>();
  const inbox = new EventTarget();
  child.on('message', (message: RaceMessage) => {
    heard.set(message.kind, message);
    inbox.dispatchEvent(new Event(message.kind));
  });
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`${task.role} ${task.number} ended with ${code ?? signal}: ${stderr}`);
  });
  ended.catch(() => undefined);
  const hears: RaceProcess['hears'] = async (kind) => {
    const message = new Promise<void>((resolve) => inbox.addEventListener(kind, () => resolve(), { once: true }));
    if (!heard.has(kind)) await Promise.race([message, ended]);
    return heard.get(kind) as never;
  };
  await hears('ready');
  return { child, hears };
}

/** The table as it is now beside what the ledger says. */
async function compare(sql: Sql, place: IndexPlace) {
  const expected = new Set<string>();
  for (const { generation, document, chunks } of await sql`SELECT * FROM race_ledger WHERE state = 'written'`) {
    for (let n = 0; n < chunks; n++) expected.add(chunkId(document, Number(generation), n));
  }
  const tables = new LanceTables(...place);
  try {
    const own = await getIndexTable(sql, RACE_BUCKET);
    const table = await tables.openForReading(own?.name ?? RACE_BUCKET, own?.version ?? 0);
    const present = table ? await readChunks(table) : [];
    const distinct = new Set(present.map(({ id }) => id));
    return {
      versions: table ? await table.version() : 0,
      rowsExpected: expected.size,
      rowsLost: [...expected].filter((id) => !distinct.has(id)).length,
      rowsDoubled: present.length - distinct.size,
      rowsLeftOver: [...distinct].filter((id) => !expected.has(id)).length,
    };
  } finally {
    await tables.close();
  }
}

export function chunkId(document: string, generation: number, n: number): string {
  return `${document}_${generation}_${n}`;
}

/** Every row of a table. */
export async function readChunks(
  table: NonNullable<Awaited<ReturnType<LanceTables['openForReading']>>>,
): Promise<{ id: string; generation: number }[]> {
  const rows = await table.query().select(['chunk_id', 'generation']).toArrow();
  const ids = rows.getChild('chunk_id');
  const generations = rows.getChild('generation');
  return Array.from({ length: rows.numRows }, (_, row) => ({
    id: ids?.get(row) as string,
    generation: Number(generations?.get(row)),
  }));
}
