import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { getIndexTable } from '../../src/index/index-store.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import type { Sql } from '../../src/platform/postgres.ts';

export const RACE_BUCKET = 'bkt_race';

/** Location of the index, as arguments of `LanceTables`. */
export type IndexPlace = readonly [uri: string, storageOptions?: Record<string, string>];

export interface RaceTask {
  readonly role: 'writer' | 'reader';
  readonly databaseUrl: string;
  readonly place: IndexPlace;
  /** Number of a writer, from 1; 0 for a reader. */
  readonly number: number;
  readonly operations: number;
  readonly seed: number;
}

export interface RaceReport {
  readonly operations: number;
  readonly seconds: number;
  /** Commits to the table by writes and by settling. */
  readonly versions: number;
  readonly rowsExpected: number;
  readonly rowsLost: number;
  readonly rowsDoubled: number;
  /** Rows that were dropped or never written but are still there. */
  readonly rowsLeftOver: number;
  /** Number of reads of the whole table during the writes. */
  readonly reads: number;
  /** Errors that the reader found. */
  readonly readFaults: readonly string[];
}

/** Message of a process of the race to the test. */
export type RaceMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done' }
  | { readonly kind: 'reads'; readonly reads: number; readonly faults: string[] };

/**
 * Run two processes that append to and drop from one bucket's index at random, while a third reads the whole index in a
 * loop. Acknowledged operations are recorded in a ledger in PostgreSQL. The reader compares every read with the ledger,
 * and the report compares the final table with it.
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
    await Promise.all([first.receive('done'), second.receive('done')]);
    const seconds = (performance.now() - beganMs) / 1000;
    reader.child.send('stop');
    const read = await reader.receive('reads');
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
  receive<K extends RaceMessage['kind']>(kind: K): Promise<Extract<RaceMessage, { kind: K }>>;
}

async function startProcess(task: RaceTask): Promise<RaceProcess> {
  const child = fork(new URL('./index-race-child.ts', import.meta.url), [JSON.stringify(task)], {
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  const received = new Map<string, RaceMessage>();
  const inbox = new EventTarget();
  child.on('message', (message: RaceMessage) => {
    received.set(message.kind, message);
    inbox.dispatchEvent(new Event(message.kind));
  });
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`${task.role} ${task.number} ended with ${code ?? signal}: ${stderr}`);
  });
  ended.catch(() => undefined);
  const receive: RaceProcess['receive'] = async (kind) => {
    const message = new Promise<void>((resolve) => inbox.addEventListener(kind, () => resolve(), { once: true }));
    if (!received.has(kind)) await Promise.race([message, ended]);
    return received.get(kind) as never;
  };
  await receive('ready');
  return { child, receive };
}

/** Compare the current table with the ledger. */
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

/** Read every row of a table. */
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
