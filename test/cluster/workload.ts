import { setTimeout as delay } from 'node:timers/promises';
import { createKey } from '../../src/access/keys.ts';
import { until } from '../support/until.ts';
import { API_NAMES, type Cluster, WORKER_NAMES } from './cluster.ts';

/** Time after which a client gives up on a request and sends it to the other API. */
const REQUEST_MS_MAX = 8_000;
const UPLOAD_EVERY_MS = 400;
const SEARCH_EVERY_MS = 250;
const BULK_EVERY_MS = 3_000;
const RETRY_MS = 200;
const BULK_TEXTS = 40;
const SENTENCES = 12;
const BUCKET = 'default';

type Api = (typeof API_NAMES)[number];

/** Faults of what was accepted, at the end. */
export interface Verdict {
  readonly documents: number;
  readonly bulkJobs: number;
  /** Documents and bulk jobs that were accepted and are not complete. */
  readonly lost: string[];
  /** Documents, jobs and chunks that exist more than once. */
  readonly doubled: string[];
  /** Jobs that are not finished. */
  readonly stuck: string[];
}

/** Clients of the cluster, who upload documents and bulk jobs and search, and repeat what fails at the other API. */
export class Workload {
  readonly #cluster: Cluster;
  readonly #key: string;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];
  /** Ids of accepted documents and bulk jobs, by the name that the client gave them. */
  readonly #documents = new Map<string, string>();
  readonly #bulkJobs = new Map<string, string>();
  #sent = 0;
  searches = 0;
  failedSearches = 0;

  private constructor(cluster: Cluster, key: string) {
    this.#cluster = cluster;
    this.#key = key;
  }

  static async start(cluster: Cluster): Promise<Workload> {
    const { appliance, operator } = cluster.observer;
    const { key } = await createKey(appliance.sql, appliance.keyRing, operator, { name: 'clients' });
    const workload = new Workload(cluster, key.reveal());
    workload.#repeat(UPLOAD_EVERY_MS, () => workload.#uploadNext());
    workload.#repeat(SEARCH_EVERY_MS, () => workload.#searchAny());
    workload.#repeat(BULK_EVERY_MS, () => workload.#submitBulk());
    return workload;
  }

  /**
   * Wait until every API answers searches, a document that is uploaded through it now is found through it, and every
   * worker and the reaper have given a sign of life.
   *
   * @returns milliseconds since the call, in all and until the documents were accepted
   */
  async awaitRecovery(withinMs: number): Promise<{ ms: number; acceptedMs: number }> {
    const beganMs = performance.now();
    const untilMs = beganMs + withinMs;
    const accepted = API_NAMES.map(async (api) => {
      const name = `probe-${this.#sent++}`;
      const id = await this.#uploadUntilAccepted(name, () => api, untilMs);
      return { api, name, id, acceptedMs: performance.now() - beganMs };
    });
    const found = accepted.map(async (upload) => {
      const { api, name, id, acceptedMs } = await upload;
      await until(async () => (await this.#search(api, name).catch((): string[] => [])).includes(id), {
        withinMs: untilMs - performance.now(),
        everyMs: 100,
        what: `${name}, accepted after ${Math.round(acceptedMs)} ms, found by ${api}`,
      });
      return acceptedMs;
    });
    const [acceptedMs] = await Promise.all([Promise.all(found), this.#awaitSignsOfLife(withinMs)]);
    return { ms: performance.now() - beganMs, acceptedMs: Math.max(...acceptedMs) };
  }

  async #awaitSignsOfLife(withinMs: number): Promise<void> {
    const { sql } = this.#cluster.observer.appliance;
    const [begin] = await sql`SELECT clock_timestamp()::text AS now`;
    const since = begin?.['now'] as string;
    let alive = '';
    const areAlive = async () => {
      const [row] = await sql`
        SELECT (SELECT count(DISTINCT pid)::int FROM workers WHERE seen_at > ${since}::timestamptz) AS workers,
               (SELECT count(*)::int FROM reaper_runs WHERE ran_at > ${since}::timestamptz) AS reapers`;
      alive = JSON.stringify(row);
      return row?.['workers'] === WORKER_NAMES.length && row?.['reapers'] === 1;
    };
    await until(areAlive, { withinMs, everyMs: 100 }).catch((error: unknown) => {
      throw new Error(`signs of life only of ${alive}`, { cause: error });
    });
  }

  /** Stop the clients, wait until all jobs are finished, and compare what was accepted with what is there. */
  async finish(withinMs: number): Promise<Verdict> {
    this.#stop.abort();
    await Promise.all(this.#running);
    const { sql } = this.#cluster.observer.appliance;
    const open = async () =>
      sql`SELECT id, kind, status, worker_id FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')`;
    await until(async () => (await open()).length === 0, { withinMs, everyMs: 200 }).catch(() => undefined);
    const stuck = (await open()).map((job) => `${job['kind']} ${job['id']} is ${job['status']} by ${job['worker_id']}`);
    const [documents, bulkJobs] = [await this.#checkDocuments(), await this.#checkBulkJobs()];
    return {
      ...{ documents: this.#documents.size, bulkJobs: this.#bulkJobs.size, stuck },
      lost: [...documents.lost, ...bulkJobs.lost],
      doubled: [...documents.doubled, ...bulkJobs.doubled],
    };
  }

  #repeat(everyMs: number, action: () => Promise<unknown>): void {
    const { signal } = this.#stop;
    const run = async () => {
      while (!signal.aborted) {
        await action();
        await delay(everyMs, undefined, { signal }).catch(() => undefined);
      }
    };
    this.#running.push(run());
  }

  #uploadNext(): Promise<unknown> {
    return this.#uploadUntilAccepted(`report-${this.#sent++}`, (attempt) => alternate(attempt));
  }

  /** @returns id of the document @throws Error if it is not accepted before `untilMs` */
  async #uploadUntilAccepted(
    name: string,
    apiOf: (attempt: number) => Api,
    untilMs = Number.POSITIVE_INFINITY,
  ): Promise<string> {
    const json = { filename: `${name}.txt`, text: textOf(name) };
    const body = await this.#sendUntilAccepted(`/v1/buckets/${BUCKET}/documents`, json, name, apiOf, untilMs);
    this.#documents.set(name, body['id'] as string);
    return body['id'] as string;
  }

  async #submitBulk(): Promise<void> {
    const name = `bulk-${this.#sent++}`;
    const texts = Array.from({ length: BULK_TEXTS }, (_, nth) => `text ${nth} of ${name}`);
    const body = await this.#sendUntilAccepted('/v1/embed/jobs', { texts }, name, alternate);
    this.#bulkJobs.set(name, body['id'] as string);
  }

  /** Send a request until it is accepted, each time with the same idempotency key. */
  async #sendUntilAccepted(
    route: string,
    json: unknown,
    name: string,
    apiOf: (attempt: number) => Api,
    untilMs = Number.POSITIVE_INFINITY,
  ): Promise<Record<string, unknown>> {
    let last = '';
    for (let attempt = 0; performance.now() < untilMs; attempt++) {
      try {
        const reply = await this.#post(apiOf(attempt), route, json, { 'idempotency-key': name });
        if (reply.ok) return (await reply.json()) as Record<string, unknown>;
        last = `${reply.status} ${await reply.text()}`;
        if (reply.status === 400 || reply.status === 422) throw new Error(`${name} was refused: ${last}`);
      } catch (error) {
        if (String(error).includes('was refused')) throw error;
        last = String(error);
      }
      await delay(RETRY_MS);
    }
    throw new Error(`${name} was not accepted in time: ${last}`);
  }

  async #searchAny(): Promise<void> {
    const names = [...this.#documents.keys()];
    const name = names[Math.floor((this.searches * 7919) % Math.max(1, names.length))];
    if (name === undefined) return;
    this.searches++;
    await this.#search(alternate(this.searches), name).catch(() => {
      this.failedSearches++;
    });
  }

  /** @returns ids of the documents that are found @throws Error if the answer is not 200 */
  async #search(api: Api, name: string): Promise<string[]> {
    const reply = await this.#post(api, `/v2/buckets/${BUCKET}/search`, { query: name, mode: 'keyword', top_k: 20 });
    if (!reply.ok) throw new Error(`${reply.status} ${await reply.text()}`);
    const { results } = (await reply.json()) as { results: { document_id: string }[] };
    return results.map((result) => result.document_id);
  }

  #post(api: Api, route: string, json: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(this.#cluster.urlOf(api) + route, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(json),
      signal: AbortSignal.timeout(REQUEST_MS_MAX),
    });
  }

  async #checkDocuments(): Promise<{ lost: string[]; doubled: string[] }> {
    const { sql, search } = this.#cluster.observer.appliance;
    const rows = await sql`
      SELECT d.id, d.file_name, d.status, d.active_generation, d.chunks_count,
             coalesce(t.table_name, d.bucket_id) AS table_name
      FROM documents d LEFT JOIN index_tables t ON t.bucket_id = d.bucket_id`;
    const chunks = new Map<number, string[]>();
    for (const name of new Set(rows.map((row) => row['table_name'] as string))) {
      const table = await search.lance.tables.openForReading(name, Number.MAX_SAFE_INTEGER);
      await table?.checkoutLatest();
      for (const row of (await table?.query().select(['generation', 'chunk_id']).toArray()) ?? []) {
        const generation = Number(row['generation']);
        chunks.set(generation, [...(chunks.get(generation) ?? []), String(row['chunk_id'])]);
      }
    }
    const byId = new Map(rows.map((row) => [row['id'] as string, row]));
    const lost: string[] = [];
    const doubled: string[] = [];
    for (const [name, id] of this.#documents) {
      const row = byId.get(id);
      const found = chunks.get(Number(row?.['active_generation'])) ?? [];
      const distinct = new Set(found).size;
      if (row?.['status'] !== 'ready' || distinct !== row['chunks_count'] || distinct === 0)
        lost.push(`${name} is ${row?.['status'] ?? 'gone'} with ${distinct} of ${row?.['chunks_count']} chunks`);
      if (found.length > distinct) doubled.push(`${name} has ${found.length} rows for ${distinct} chunks`);
    }
    for (const [file, same] of Map.groupBy(rows, (row) => row['file_name'] as string))
      if (same.length > 1) doubled.push(`${file} exists ${same.length} times`);
    return { lost, doubled };
  }

  async #checkBulkJobs(): Promise<{ lost: string[]; doubled: string[] }> {
    const { sql } = this.#cluster.observer.appliance;
    const rows = await sql`
      SELECT jobs.id, status, coalesce(sum(texts), 0)::int AS texts
      FROM jobs LEFT JOIN bulk_chunks ON bulk_chunks.job_id = jobs.id WHERE kind = 'bulk' GROUP BY jobs.id, status`;
    const byId = new Map(rows.map((row) => [row['id'] as string, row]));
    const known = new Set(this.#bulkJobs.values());
    return {
      lost: [...this.#bulkJobs].flatMap(([name, id]) => {
        const row = byId.get(id);
        const isComplete = row?.['status'] === 'ready' && row['texts'] === BULK_TEXTS;
        return isComplete ? [] : [`${name} is ${row?.['status'] ?? 'gone'} with ${row?.['texts']} texts`];
      }),
      doubled: rows.flatMap((row) => (known.has(row['id'] as string) ? [] : [`${row['id']} was queued twice`])),
    };
  }
}

function alternate(attempt: number): Api {
  return API_NAMES[attempt % API_NAMES.length] as Api;
}

/** Return a text of some chunks in which a word occurs that no other document has. */
function textOf(name: string): string {
  return Array.from({ length: SENTENCES }, (_, nth) => `Finding ${nth} of ${name} concerns the tides.`).join(' ');
}
