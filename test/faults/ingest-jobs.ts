import { setTimeout as delay } from 'node:timers/promises';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { until } from '../support/until.ts';
import { type Fleet, TINY } from './fleet.ts';

const SENTENCES = 120;

/** Return a text of some chunks that no other document has. */
export function documentOf(name: string): string {
  return Array.from(
    { length: SENTENCES },
    (_, i) => `Finding ${i} of ${name} concerns the estuary and its tides.`,
  ).join(' ');
}

/** Route embedding to the upstream, so that its replies are among the points at which a worker can be killed. */
export async function routeToUpstream({ appliance, operator }: Fleet): Promise<void> {
  await appliance.embedding.routing.set(operator, { primary: TINY.id, mode: 'single' });
}

/** Upload a document. @returns its id */
export async function uploadText({ appliance, operator }: Fleet, name: string): Promise<string> {
  const content = { bytes: Buffer.from(documentOf(name)), fileName: `${name}.txt`, contentType: null };
  return (await uploadDocument(appliance.ingest.uploads, operator, 'default', content, UploadRequest.parse({}))).id;
}

/** Keep documents in the queue until it is stopped. @param waiting number of unfinished jobs */
export function feedDocuments(fleet: Fleet, waiting: number): { stop(): Promise<string[]> } {
  const { sql } = fleet.appliance;
  const stop = new AbortController();
  const documents: string[] = [];
  const feeding = (async () => {
    while (!stop.signal.aborted) {
      const open = await sql`SELECT 1 FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')`;
      for (let i = open.length; i < waiting; i++) documents.push(await uploadText(fleet, `report-${documents.length}`));
      await delay(50, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  })();
  return {
    async stop() {
      stop.abort();
      await feeding;
      return documents;
    },
  };
}

/**
 * Find the faults of documents that should be ready: chunks that are missing in their live generation, duplicate chunks
 * and, after the sweeps, rows and artifacts of generations that are not live.
 */
export async function checkDocuments(
  fleet: Fleet,
  documents: readonly string[],
): Promise<{ lost: number; doubled: number; leftovers: string[] }> {
  const { sql, search, objects } = fleet.appliance;
  const rows = await sql`
    SELECT d.id, d.status, d.bucket_id, d.active_generation, d.chunks_count,
           coalesce(t.table_name, d.bucket_id) AS table_name, t.version
    FROM documents d LEFT JOIN index_tables t ON t.bucket_id = d.bucket_id
    WHERE d.id = ANY(${sql.array([...documents])}::text[])`;
  const chunks = await readIndex();
  const live = new Set(rows.map((row) => Number(row['active_generation'])));
  let lost = documents.length - rows.length;
  let doubled = 0;
  for (const row of rows) {
    const indexed = chunks.get(Number(row['active_generation'])) ?? [];
    const distinct = new Set(indexed).size;
    if (row['status'] !== 'ready' || distinct !== row['chunks_count']) lost++;
    doubled += indexed.length - distinct;
  }
  const findLeftovers = async () => {
    const left = [...(await readIndex()).keys()].filter((id) => !live.has(id)).map((id) => `rows of generation ${id}`);
    for await (const { key } of objects.list('documents/')) {
      const generation = /\/chunks-(\d+)$/.exec(key)?.[1];
      if (generation !== undefined && !live.has(Number(generation))) left.push(key);
    }
    return left;
  };
  const reaper = fleet.appliance.reaper({ everyMs: 500 });
  await reaper.start(new AbortController().signal);
  await until(async () => (await findLeftovers()).length === 0, { withinMs: 10_000, everyMs: 200 }).catch(
    () => undefined,
  );
  await reaper.stop();
  return { lost, doubled, leftovers: await findLeftovers() };

  /** Read the ids of chunks by generation. */
  async function readIndex(): Promise<Map<number, string[]>> {
    const found = new Map<number, string[]>();
    for (const name of new Set(rows.map((row) => row['table_name'] as string))) {
      const table = await search.lance.tables.openForReading(name, Number.MAX_SAFE_INTEGER);
      await table?.checkoutLatest();
      for (const { generation, chunk_id } of (await table?.query().select(['generation', 'chunk_id']).toArray()) ??
        []) {
        const ids = found.get(Number(generation)) ?? [];
        ids.push(String(chunk_id));
        found.set(Number(generation), ids);
      }
    }
    return found;
  }
}
