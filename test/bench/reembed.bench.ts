/**
 * Benchmark of moving a bucket to another model: 50,000 chunks are embedded by an upstream over HTTP while searches go
 * on. The floor is the time in which the same provider embeds the same texts and does nothing else. An argument sets the
 * number of chunks.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createKey } from '../../src/access/keys.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { artifactKey } from '../../src/documents/documents.ts';
import { encodeArtifact } from '../../src/ingest/artifact.ts';
import { queueReembed } from '../../src/ingest/reindex/reembed-job.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { LEXICAL_SPACE } from '../../src/projection/projections.ts';
import { INDEX_DIMENSIONS } from '../../src/projection/resize.ts';
import { makeDataDir } from '../support/appliance.ts';
import { fillIndex } from '../support/fill-index.ts';
import { drawQueries, readPassages } from '../support/real-passages.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { LeanClient } from './lean-client.ts';

const CHUNKS = Number(process.argv[2] ?? 50_000);
const CHUNKS_PER_DOCUMENT = 5;
const MODEL = 'vendor-a/text-embedding-3-small';
/** Response time of a vendor for a call of up to 128 texts. */
const DELAY_MS = 250;
const CONCURRENCY = 8;
const QUERIES_BEFORE = 400;
/** Pause between searches while the bucket moves: people search, but not at full load. */
const PAUSE_MS = 50;

const { dataDir, remove } = makeDataDir();
const upstream = await startUpstream();
const provider = { protocol: 'openai', base_url: upstream.url, concurrency_max: CONCURRENCY, items_max: 128 };
const settings = { data_dir: dataDir, projections: { auto: 'off' }, providers: { 'vendor-a': provider } };
const appliance = await openAppliance(loadConfig({ env: {}, overrides: settings }), { logger: openLogger('warn') });
const { sql, objects, embedding } = appliance;
const passages = readPassages(CHUNKS);
try {
  const operator = await appliance.access.operator('default');
  const [bucket] = await sql`SELECT id FROM buckets`;
  const bucketId = bucket?.['id'] as string;
  await fillIndex({ sql, tables: appliance.search.lance.tables }, { orgId: operator.orgId, bucketId }, passages, {
    ...{ chunksPerDocument: CHUNKS_PER_DOCUMENT, teams: 200 },
  });
  await storeArtifacts(operator.orgId);
  await sql`UPDATE index_tables SET model = 'local/lexical-1'`;

  const floorSeconds = await embedAll();
  console.log(`reembed  upstream alone: ${CHUNKS} texts in ${floorSeconds.toFixed(1)} s`);

  const { key } = await createKey(sql, appliance.keyRing, operator, { name: 'bench' });
  const server = await startServiceProcess(['serve', '--no-workers', '--port', '0', '--data-dir', dataDir], {});
  const client = await LeanClient.open(`${server.ready['url']}/v2/buckets/default/search`, {
    authorization: `Bearer ${key.reveal()}`,
  });
  const queries = drawQueries(passages, QUERIES_BEFORE);
  const before: number[] = [];
  for (const query of queries) {
    before.push(await search(client, query));
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  // Run workers in a separate process, as in a larger installation.
  const worker = await startServiceProcess(['worker', 'ingest', '--data-dir', dataDir], {
    SERVICE_CONFIG: await writeConfig(),
  });
  const beganMs = performance.now();
  const reply = await queueReembed(
    appliance.ingest.reembed,
    operator,
    { bucket: bucketId, model: MODEL },
    { dryRun: false },
  );
  const meanwhile: number[] = [];
  for (let nth = 0; !(await isDone(reply.job_id as string)); nth++) {
    meanwhile.push(await search(client, queries[nth % queries.length] as string));
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  const seconds = (performance.now() - beganMs) / 1000;
  const [p99Before, p99] = [quantile(before.slice(100), 0.99), quantile(meanwhile, 0.99)];
  console.log(
    `reembed  ${CHUNKS} chunks in ${seconds.toFixed(1)} s, ${(seconds / floorSeconds).toFixed(2)} of the upstream's own time; ` +
      `search p99 ${p99.toFixed(1)} ms meanwhile (${meanwhile.length} searches), ${p99Before.toFixed(1)} before: ${(p99 / p99Before).toFixed(2)}`,
  );
  client.close();
  await worker.end('SIGTERM');
  await server.end('SIGTERM');
} finally {
  await appliance.close();
  upstream.child.kill('SIGKILL');
  remove();
}

async function startUpstream(): Promise<{ url: string; child: ChildProcess }> {
  const script = fileURLToPath(new URL('../support/fake-upstream/main.ts', import.meta.url));
  const child = spawn(process.execPath, [script, '--delay-ms', `${DELAY_MS}`], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line');
  return { url: (JSON.parse(String(line)) as { url: string }).url, child };
}

async function writeConfig(): Promise<string> {
  const file = `${dataDir}/worker.yaml`;
  await writeFile(file, JSON.stringify(settings));
  return file;
}

/** Store the artifact of every document, as its ingest would have. */
async function storeArtifacts(orgId: string): Promise<void> {
  const vectors = new Float32Array(CHUNKS_PER_DOCUMENT * INDEX_DIMENSIONS).fill(1 / Math.sqrt(INDEX_DIMENSIONS));
  for (let number = 1; number <= CHUNKS / CHUNKS_PER_DOCUMENT; number++) {
    const documentId = `doc_${number}`;
    const chunks = passages
      .slice((number - 1) * CHUNKS_PER_DOCUMENT, number * CHUNKS_PER_DOCUMENT)
      .map((text, index) => ({
        ...{ id: `${documentId}_${number}_${index}`, index, text, token_count: Math.ceil(text.length / 4) },
        locator: { page: null, heading_path: [], start: 0, end: text.length },
      }));
    const about = { documentId, generation: number, model: 'local/lexical-1', space: LEXICAL_SPACE, mapVersion: null };
    const bytes = encodeArtifact({ ...about, dimensions: INDEX_DIMENSIONS, chunks, vectors, native: null });
    const key = artifactKey(orgId, documentId, number);
    await objects.put(key, bytes);
  }
  await sql`
    UPDATE generations SET embed_model = 'local/lexical-1',
      artifact_key = 'documents/' || org_id || '/' || document_id || '/chunks-' || id`;
  await sql`SELECT setval('document_generations', ${CHUNKS / CHUNKS_PER_DOCUMENT + 1})`;
}

/** Embed all passages with the provider alone. @returns seconds */
async function embedAll(): Promise<number> {
  const model = embedding.backends.catalog.find(MODEL);
  const beganMs = performance.now();
  const size = 512;
  let next = 0;
  const work = async () => {
    for (let from = next; from < CHUNKS; from = next) {
      next += size;
      const texts = passages.slice(from, from + size);
      const signal = new AbortController().signal;
      await embedding.embedNative({ model, texts, taskType: 'retrieval_document', signal });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return (performance.now() - beganMs) / 1000;
}

async function isDone(jobId: string): Promise<boolean> {
  const [row] = await sql`SELECT status, error_message FROM jobs WHERE id = ${jobId}`;
  if (row?.['status'] === 'failed') throw new Error(`the job failed: ${row['error_message']}`);
  return row?.['status'] === 'ready';
}

async function search(client: LeanClient, query: string): Promise<number> {
  const body = JSON.stringify({ query, mode: 'hybrid', top_k: 10 });
  const beganMs = performance.now();
  await client.post(body);
  return performance.now() - beganMs;
}

function quantile(times: readonly number[], part: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number;
}
