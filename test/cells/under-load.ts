import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, inject } from 'vitest';
import { makeFolder } from '../backup/support.ts';
import { makeDataDir } from '../support/appliance.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { createTestRandom } from '../support/random.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';
import { startCellProxy } from './proxy.ts';

const SERVICE = fileURLToPath(new URL('../../bin/service', import.meta.url));
/** Prefix of the new keys of the target. */
const PREFIX = 'b01';
const UPLOADERS = 4;
const READY_MS_MAX = 1_800_000;
/** Pause between two requests of a load, which keeps it far below the machine's limit. */
const PAUSE_MS = 25;

/** Installation of its own, with its server and its command line. */
interface Cell {
  readonly url: string;
  readonly database: TestDatabase;
  readonly env: NodeJS.ProcessEnv;
  run(...args: string[]): Promise<Finished>;
  close(): Promise<void>;
}

interface Finished {
  readonly code: number | null;
  // biome-ignore lint/suspicious/noExplicitAny: a test says itself what it expects in it
  readonly output: any;
  readonly stderr: string;
}

interface Started {
  readonly child: ChildProcess;
  stderr(): string;
  readonly finished: Promise<Finished>;
}

function start(args: readonly string[], env: NodeJS.ProcessEnv): Started {
  const child = spawn(SERVICE, [...args, '--json'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    stdout += part;
  });
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    stderr += part;
  });
  const finished = once(child, 'close').then(([code]) => ({
    ...{ code: code as number | null, stderr },
    output: stdout === '' ? null : JSON.parse(stdout),
  }));
  return { child, stderr: () => stderr, finished };
}

async function openCell(): Promise<Cell> {
  const database = await createTestDatabase({ isEmpty: true });
  const { dataDir, remove } = makeDataDir();
  const { PATH, HOME } = process.env;
  const env = {
    ...{ PATH, HOME, SERVICE_BUILT_IN_MODEL: 'lexical', SERVICE_LOG_LEVEL: 'warn' },
    ...{ DATABASE_URL: database.url, SERVICE_DATA_DIR: dataDir },
  };
  const server: ServiceProcess = await startServiceProcess(['serve', '--port', '0'], env);
  return {
    url: server.ready['url'] as string,
    database,
    env,
    run: (...args) => start(args, env).finished,
    async close() {
      await server.end('SIGTERM');
      await database.drop();
      remove();
    },
  };
}

/** Requests that go on during the move. */
interface Load {
  /** Address that clients use. */
  base: string;
  readonly key: string;
  isOver: boolean;
  /** Ids of documents whose uploads were accepted. */
  readonly accepted: string[];
  refusedUploads: number;
  /** Times of the first upload that was refused, and of the last one. */
  refusedMs: [first: number, last: number] | null;
  searches: number;
  refusedSearches: number;
  /** Searches that did not find the document of their query. */
  wrong: number;
  /** Longest time between two searches that were answered. */
  longestGapMs: number;
  readonly faults: string[];
}

const send = (load: Pick<Load, 'base' | 'key'>, path: string, json: object) =>
  fetch(`${load.base}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${load.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(json),
  });

const textOf = (nth: number) => `The report ${nth} is about subject${nth} and the harbour of town${nth % 97}.`;

async function uploadOne(load: Load, name: string, text: string): Promise<boolean> {
  const json = { filename: `${name}.txt`, text, on_duplicate: 'allow' };
  const response = await send(load, '/v1/buckets/library/documents', json).catch((error: Error) => error);
  if (response instanceof Error) {
    load.faults.push(`upload: ${response.cause ?? response.message}`);
    return false;
  }
  const body = (await response.json()) as { id?: string };
  if (response.status === 202 && body.id !== undefined) load.accepted.push(body.id);
  else if (response.status === 503) {
    load.refusedUploads++;
    load.refusedMs = [load.refusedMs?.[0] ?? performance.now(), performance.now()];
  } else load.faults.push(`upload: ${response.status} ${JSON.stringify(body)}`);
  return response.status === 202;
}

async function keepUploading(load: Load): Promise<void> {
  for (let nth = 0; !load.isOver; nth++) {
    await uploadOne(load, `live-${nth}`, `A note ${nth} that came during the move.`);
    await delay(PAUSE_MS);
  }
}

async function keepSearching(load: Load, documents: number): Promise<void> {
  let answeredMs = performance.now();
  for (let nth = 0; !load.isOver; nth = (nth + 7) % documents) {
    const json = { query: `subject${nth}`, top_k: 1 };
    const response = await send(load, '/v2/buckets/library/search', json).catch((error: Error) => error);
    if (response instanceof Error) {
      load.faults.push(`search: ${response.cause ?? response.message}`);
      continue;
    }
    const body = (await response.json()) as { results?: { text: string }[] };
    if (response.status === 200) {
      load.searches++;
      load.longestGapMs = Math.max(load.longestGapMs, performance.now() - answeredMs);
      answeredMs = performance.now();
      if (!body.results?.[0]?.text.includes(`subject${nth} `)) load.wrong++;
    } else if (response.status === 503) load.refusedSearches++;
    else load.faults.push(`search: ${response.status} ${JSON.stringify(body)}`);
    await delay(PAUSE_MS);
  }
}

export interface MoveFigures {
  readonly documents: number;
  readonly exportMs: number;
  readonly importMs: number;
  /** Time from the start of the release until the proxy sends requests to the target. */
  readonly switchMs: number;
  readonly searches: number;
  readonly refusedSearches: number;
  readonly longestGapMs: number;
  readonly acceptedDuring: number;
  readonly refusedUploads: number;
  /** Time for which uploads were refused. */
  readonly readOnlyMs: number;
  readonly requeuedJobs: number;
  readonly throughProxy: boolean;
}

/**
 * Move an organization between two installations under searches and uploads, and kill the commands meanwhile. Check that
 * no accepted document is lost, and that every search that was answered found its document.
 */
export async function checkMoveUnderLoad(documents: number, kills: number): Promise<MoveFigures> {
  const source = await openCell();
  const target = await openCell();
  const folder = makeFolder();
  try {
    return await new MoveUnderLoad(source, target, folder.directory).run(documents, kills);
  } finally {
    await source.close();
    await target.close();
    folder.remove();
  }
}

class MoveUnderLoad {
  readonly #source: Cell;
  readonly #target: Cell;
  readonly #place: string;
  readonly #keyFlag: readonly [string, string];
  readonly #random = createTestRandom('killed moves');

  constructor(source: Cell, target: Cell, directory: string) {
    this.#source = source;
    this.#target = target;
    this.#place = `${directory}/export`;
    this.#keyFlag = ['--key-file', `${directory}/move.key`];
  }

  async run(documents: number, kills: number): Promise<MoveFigures> {
    const load = await this.#fill(documents);
    const before = load.accepted.length;
    const proxy = inject('servers').haproxy ? await startCellProxy([this.#source.url, this.#target.url], PREFIX) : null;
    if (proxy !== null) load.base = proxy.url;
    const running = [keepUploading(load), keepSearching(load, documents)];
    try {
      const exported = await this.#timed(kills, this.#source, this.#exportArgs());
      const imported = await this.#timed(kills, this.#target, ['import', this.#place, ...this.#keyFlag]);
      expect(imported.output).toMatchObject({ left_out: [], documents: exported.output.documents });
      const beganMs = await this.#switch();
      if (proxy !== null) await proxy.addMoved(load.key.split('_')[1] as string);
      load.base = proxy?.url ?? this.#target.url;
      const switchMs = performance.now() - beganMs;
      const atSwitch = load.searches;
      await until(async () => load.searches > atSwitch + 20, { withinMs: 60_000, what: 'searches at the target' });
      load.isOver = true;
      await Promise.all(running);
      await this.#checkNothingLost(load);
      const [first, last] = load.refusedMs ?? [0, 0];
      if (proxy !== null) await this.#checkNewKey(proxy.url);
      return {
        ...{ documents, exportMs: exported.ms, importMs: imported.ms, switchMs: Math.round(switchMs) },
        ...{ searches: load.searches, refusedSearches: load.refusedSearches },
        ...{ longestGapMs: Math.round(load.longestGapMs), acceptedDuring: load.accepted.length - before },
        ...{ refusedUploads: load.refusedUploads, readOnlyMs: Math.round(last - first) },
        requeuedJobs: exported.output.requeued_jobs,
        throughProxy: proxy !== null,
      };
    } finally {
      load.isOver = true;
      await Promise.all(running);
      await proxy?.close();
    }
  }

  async #fill(documents: number): Promise<Load> {
    const { run, url, database } = this.#source;
    expect(await run('orgs', 'create', 'acme', '--plan', 'enterprise')).toMatchObject({ code: 0 });
    const scopes = ['search', 'documents:write', 'buckets:manage'].flatMap((scope) => ['--scope', scope]);
    const made = await run('keys', 'create', '--org', 'acme', '--name', 'load', ...scopes);
    const load: Load = {
      ...{ base: url, key: made.output.key, isOver: false, accepted: [], faults: [] },
      ...{ refusedUploads: 0, refusedMs: null, searches: 0, refusedSearches: 0, wrong: 0, longestGapMs: 0 },
    };
    expect((await send(load, '/v1/buckets', { name: 'library' })).status).toBe(201);
    const numbers = Array.from({ length: documents }, (_, nth) => nth).values();
    const uploader = async () => {
      for (const nth of numbers) {
        for (;;) {
          if (await uploadOne(load, `report-${nth}`, textOf(nth))) break;
          await delay(100);
        }
      }
    };
    await Promise.all(Array.from({ length: UPLOADERS }, uploader));
    await until(
      async () => {
        const [row] = await database.sql`SELECT count(*)::int AS n FROM documents WHERE status = 'ready'`;
        return row?.['n'] === documents;
      },
      { withinMs: READY_MS_MAX, everyMs: 200, what: 'ingest' },
    );
    load.refusedUploads = 0;
    load.refusedMs = null;
    return load;
  }

  #exportArgs(): string[] {
    return ['export', 'acme', '--to', this.#place, ...this.#keyFlag, '--wait', '2'];
  }

  /** Run a command to its end, after it was killed some times. */
  async #timed(kills: number, cell: Cell, args: readonly string[]): Promise<Finished & { ms: number }> {
    const beganMs = performance.now();
    const whole = await this.#runKilled(kills, cell, args);
    expect(whole).toMatchObject({ code: 0 });
    return { ...whole, ms: Math.round(performance.now() - beganMs) };
  }

  async #runKilled(kills: number, cell: Cell, args: readonly string[]): Promise<Finished> {
    for (let nth = 0; nth < kills; nth++) {
      const { child, finished } = start(['orgs', ...args], cell.env);
      await Promise.race([delay(1_000 + this.#random.int(4_000)), finished]);
      child.kill('SIGKILL');
      await finished;
    }
    return cell.run('orgs', ...args);
  }

  /** Switch from the source to the target. Return when the release began. */
  async #switch(): Promise<number> {
    const { env } = this.#target;
    const activation = start(['orgs', 'import', this.#place, ...this.#keyFlag, '--activate'], env);
    await until(
      async () => {
        const [row] = await this.#target.database.sql`
          SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND granted
            AND objid = (hashtextextended('move/' || (SELECT org_id FROM organization_imports), 0) & 4294967295)::bigint`;
        return (row?.['n'] as number) > 0 || activation.child.exitCode !== null;
      },
      { withinMs: 60_000, what: 'the target to wait for the release' },
    );
    const beganMs = performance.now();
    const release = ['orgs', 'release', 'acme', '--to', this.#place, ...this.#keyFlag, '--yes'];
    expect(await this.#source.run(...release)).toMatchObject({ code: 0 });
    expect(await activation.finished).toMatchObject({ code: 0 });
    return beganMs;
  }

  /** Check that every accepted document is at the target, and becomes searchable there. */
  async #checkNothingLost(load: Load): Promise<void> {
    expect(load.faults).toEqual([]);
    expect(load.wrong).toBe(0);
    const { sql } = this.#target.database;
    await until(
      async () => {
        const [row] = await sql`
          SELECT count(*)::int AS n FROM documents
          WHERE id = ANY(${sql.array(load.accepted)}::text[]) AND status = 'ready' AND active_generation IS NOT NULL`;
        return row?.['n'] === load.accepted.length;
      },
      { withinMs: READY_MS_MAX, everyMs: 200, what: 'every accepted document at the target' },
    );
  }

  /** Check that the proxy finds the target by the prefix of a key that it has made after the move. */
  async #checkNewKey(base: string): Promise<void> {
    const { run } = this.#target;
    expect(await run('keys', 'prefix', PREFIX)).toMatchObject({ code: 0 });
    const made = await run('keys', 'create', '--org', 'acme', '--name', 'new', '--scope', 'search');
    const key = made.output.key as string;
    expect(key.startsWith(`svc_${PREFIX}`)).toBe(true);
    const found = await send({ base, key }, '/v2/buckets/library/search', { query: 'subject1', top_k: 1 });
    expect(found.status).toBe(200);
  }
}
