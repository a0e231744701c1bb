import { getIndexTable } from '../../src/index/index-store.ts';
import { until } from '../support/until.ts';
import type { KnownDocument } from './events.ts';
import type { Installation } from './installation.ts';
import { Mismatch, type Model, type Trace } from './model.ts';
import { list, search } from './perform.ts';
import type { JobEnd, JobEnds, State } from './state.ts';

const JOBS_END_MS = 60_000;
const CLEAN_MS = 15_000;

/** Error categories that no job may have. Unreadable files and jobs whose workers were killed too often have others. */
const UNEXPECTED = ['internal', 'timeout', 'out_of_memory', 'upstream_unavailable', 'quota', 'not_comparable'];

/** Numbers of comparisons. */
export interface Compared {
  documents: number;
  searches: number;
  rows: number;
}

/** Wait until no job is in progress, and compare everything with the model. @throws Mismatch */
export async function settle(installation: Installation, model: Model, nth: number): Promise<Compared> {
  const node = nth % installation.nodes.length;
  const ends = await waitForJobs(installation);
  const final = await readAll(installation, model, node, nth);
  const documents = model.settle(ends, final);
  checkChunks(final, await readLive(installation, documents, []));
  const rows = await checkStores(installation, documents, node);
  return { documents: documents.size, searches: final.length, rows };
}

async function waitForJobs(installation: Installation): Promise<JobEnds> {
  const { sql } = installation.nodes[0] as Installation['nodes'][number];
  const open = () =>
    sql`SELECT id, status, worker_id, crash_count FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')`;
  let polls = 0;
  await until(
    async () => {
      if (++polls % 50 === 0) await installation.recover();
      return (await open()).length === 0;
    },
    { withinMs: JOBS_END_MS, everyMs: 20 },
  ).catch(async () => {
    throw new Mismatch(`jobs do not end: ${JSON.stringify(await open())}`);
  });
  const wrong = await sql`
    SELECT id, document_id, failed_phase, error_category, error_message FROM jobs
    WHERE status = 'failed' AND error_category = ANY(${sql.array(UNEXPECTED)}::text[])`;
  if (wrong.length > 0) throw new Mismatch(`jobs failed that should not: ${JSON.stringify(wrong)}`);
  const rows = await sql`SELECT id, status FROM jobs WHERE kind = 'ingest'`;
  const ends = new Map(rows.map((row) => [row['id'] as string, row['status'] as JobEnd]));
  return (job) => ends.get(job) ?? 'gone';
}

/** Read every list, and search for each text by each caller, with varying modes and restrictions. */
async function readAll(installation: Installation, model: Model, node: number, nth: number): Promise<Trace[]> {
  const site = { installation, model, node: installation.nodes[node] as Installation['nodes'][number] };
  const traces: Trace[] = [];
  for (const caller of ['high', 'low'] as const) {
    for (const bucket of installation.buckets.keys()) traces.push(await list(site, bucket, caller));
  }
  const texts = new Map(model.remaining().map(({ bucket, text }) => [`${bucket}/${text}`, { bucket, text }]));
  let variant = nth;
  for (const { bucket, text } of texts.values()) {
    for (const caller of ['high', 'low'] as const) {
      traces.push(await search(site, { bucket, text, caller, mode: 'keyword', narrow: 'not' }));
    }
    const narrow = (['not', 'collection', 'filter'] as const)[variant++ % 3] as 'not';
    const caller = variant % 2 === 0 ? 'high' : 'low';
    traces.push(await search(site, { bucket, text, caller, mode: variant % 4 === 0 ? 'hybrid' : 'keyword', narrow }));
  }
  return traces;
}

/** Check that answers show only chunks of live generations. */
function checkChunks(final: readonly Trace[], live: ReadonlyMap<number, Live>): void {
  for (const { label, chunks = [] } of final) {
    const dead = chunks.filter((chunk) => !live.has(Number(chunk.split('_').at(-2))));
    if (dead.length > 0) throw new Mismatch(`${label} shows chunks of dead generations: ${dead.join(', ')}`);
  }
}

/** Check that after the sweeps the index and the objects contain exactly the data of the documents. */
async function checkStores(
  installation: Installation,
  documents: ReadonlyMap<string, { document: KnownDocument; state: State }>,
  node: number,
): Promise<number> {
  let faults: string[] = [];
  let rows = 0;
  await until(
    async () => {
      await installation.housekeep(node);
      faults = [];
      rows = 0;
      const live = await readLive(installation, documents, faults);
      const stored = await readStored(installation, documents, faults);
      const kept = new Map([...live, ...stored]);
      for (const { id } of installation.buckets) rows += await checkIndex(installation, id, { live, stored }, faults);
      await checkObjects(installation, documents, kept, faults);
      return faults.length === 0;
    },
    { withinMs: CLEAN_MS, everyMs: 100 },
  ).catch((error: unknown) => {
    throw faults.length > 0 ? new Mismatch(faults.slice(0, 20).join('\n')) : error;
  });
  return rows;
}

interface Live {
  readonly documentId: string;
  readonly bucketId: string;
  readonly chunks: number;
}

/**
 * Read the generations that are kept for documents which no search finds, by id: an edit took them out of search, and the job
 * that was to write their chunks again was cancelled. Reprocessing does so without the file.
 */
async function readStored(
  { nodes: [node] }: Installation,
  documents: ReadonlyMap<string, { state: State }>,
  faults: string[],
): Promise<Map<number, Live>> {
  const { sql } = node as Installation['nodes'][number];
  const rows = await sql`
    SELECT d.id, d.bucket_id, d.searchable, d.active_generation, g.id AS generation, g.chunks_count
    FROM documents d JOIN generations g ON g.id = d.stored_generation`;
  for (const row of rows) {
    if (row['active_generation'] !== null || documents.get(row['id'] as string)?.state.isActive)
      faults.push(`${row['id']} is found, and keeps generation ${row['generation']} too`);
    if (!row['searchable']) faults.push(`${row['id']} is disabled, and keeps generation ${row['generation']}`);
  }
  return byGeneration(rows);
}

function byGeneration(rows: readonly Readonly<Record<string, unknown>>[]): Map<number, Live> {
  return new Map(
    rows.map((row) => [
      Number(row['generation']),
      { documentId: row['id'] as string, bucketId: row['bucket_id'] as string, chunks: row['chunks_count'] as number },
    ]),
  );
}

/** Read the live generations, by id. */
async function readLive(
  { nodes: [node] }: Installation,
  documents: ReadonlyMap<string, { state: State }>,
  faults: string[],
): Promise<Map<number, Live>> {
  const { sql } = node as Installation['nodes'][number];
  const rows = await sql`
    SELECT d.id, d.bucket_id, d.chunks_count, g.id AS generation, g.chunks_count AS written, d.active_generation
    FROM documents d LEFT JOIN generations g ON g.id = d.active_generation`;
  for (const row of rows) {
    const state = documents.get(row['id'] as string)?.state;
    if (state === undefined) faults.push(`${row['id']} has a row`);
    else if (state.isActive !== (row['active_generation'] !== null))
      faults.push(`${row['id']} has vectors: ${!state.isActive}`);
    else if (state.isActive && row['written'] !== row['chunks_count'])
      faults.push(`${row['id']} has no such generation`);
  }
  return byGeneration(rows.filter((row) => row['generation'] !== null));
}

async function checkIndex(
  { nodes: [node] }: Installation,
  bucketId: string,
  { live, stored }: { readonly live: ReadonlyMap<number, Live>; readonly stored: ReadonlyMap<number, Live> },
  faults: string[],
): Promise<number> {
  const { sql, search: context } = node as Installation['nodes'][number];
  const own = await getIndexTable(sql, bucketId);
  const chunks = new Map<number, number[]>();
  const counts = own === null ? new Map<number, number>() : await context.chunks.countByGeneration(own.name);
  if (own !== null) {
    const latest = { name: own.name, version: await context.chunks.version(own.name) };
    for await (const { generation, chunkIndex } of context.chunks.readTokens(latest, [...counts.keys()]))
      chunks.set(generation, [...(chunks.get(generation) ?? []), chunkIndex]);
  }
  for (const [id, found] of chunks) {
    if ((live.get(id) ?? stored.get(id))?.bucketId !== bucketId)
      faults.push(`index of ${bucketId} has ${found.length} rows of generation ${id}`);
  }
  // Rows of a stored generation are not written anew with the index.
  for (const [id, { documentId, bucketId: own, chunks: count }] of live) {
    if (own !== bucketId) continue;
    const found = chunks.get(id) ?? [];
    if (found.length !== count || new Set(found).size !== count) {
      faults.push(`index has ${found.length} rows (${new Set(found).size} chunks) of ${documentId}, not ${count}`);
    }
  }
  return [...chunks.values()].reduce((sum, found) => sum + found.length, 0);
}

async function checkObjects(
  { nodes: [node] }: Installation,
  documents: ReadonlyMap<string, unknown>,
  kept: ReadonlyMap<number, Live>,
  faults: string[],
): Promise<void> {
  const { objects } = node as Installation['nodes'][number];
  const needed = new Set([...documents.keys()].map((id) => `${id}/original`));
  for (const [generation, { documentId }] of kept) needed.add(`${documentId}/chunks-${generation}`);
  for await (const { key } of objects.list('documents/')) {
    if (!needed.delete(key.split('/').slice(2).join('/'))) faults.push(`${key} is not needed`);
  }
  for (const key of needed) faults.push(`${key} is missing`);
}
