/**
 * Benchmark of searches while documents are uploaded: 100 small ones a second into the bucket of 20,000 chunks that is
 * searched, one search at a time, over HTTP with a server and its worker in a separate process. Meanwhile some documents
 * are searched for once, as soon as they are ready. Arguments set the number of chunks, the documents a second and the
 * seconds.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createKey } from '../../src/access/keys.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { analyse } from '../../src/language/analyser.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';
import { fillIndex } from '../support/fill-index.ts';
import { drawQueries, readPassages } from '../support/real-passages.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { LeanClient } from './lean-client.ts';

const CHUNKS = Number(process.argv[2] ?? 20_000);
const PER_SECOND = Number(process.argv[3] ?? 100);
const SECONDS = Number(process.argv[4] ?? 20);
const QUERIES = 400;
const WARM_UP = 100;
/** Goal: 99th percentile during the uploads as a multiple of that without them. */
const RATIO_MAX = 2;
/** Name of the bucket. */
const BUCKET = 'busy';
/** Time between two documents that are searched for as soon as they are ready. */
const PROBE_MS = 500;

const { dataDir, remove } = makeDataDir();
const appliance = await openAppliance(loadConfig({ env: {}, overrides: { data_dir: dataDir } }), {
  logger: openLogger('warn'),
});
const { sql } = appliance;
const passages = readPassages(CHUNKS);
try {
  const operator = await appliance.access.operator('default');
  const { id: bucketId } = await createBucket(sql, operator, { name: BUCKET, policy: BucketPolicy.parse({}) });
  const shape = { chunksPerDocument: 5, teams: 10 };
  await fillIndex({ sql, tables: appliance.search.tables }, { orgId: operator.orgId, bucketId }, passages, shape);
  // Documents to come get generations after those of the filled ones.
  await sql`SELECT setval('document_generations', ${CHUNKS})`;
  const { key } = await createKey(sql, appliance.keyRing, operator, { name: 'bench' });
  const server = await startServiceProcess(['serve', '--port', '0', '--data-dir', dataDir], {});
  try {
    await measure(String(server.ready['url']), key.reveal());
  } finally {
    await server.end('SIGTERM');
  }
} finally {
  await appliance.close();
  remove();
}

async function measure(url: string, key: string): Promise<void> {
  const authorization = `Bearer ${key}`;
  const queries = drawQueries(passages, QUERIES).filter((query) => analyse(query).length > 0);
  const client = await LeanClient.open(`${url}/v2/buckets/${BUCKET}/search`, { authorization });
  const search = async (nth: number) => {
    const beganMs = performance.now();
    await client.post(JSON.stringify({ query: queries[nth % queries.length], top_k: 10 }));
    return performance.now() - beganMs;
  };
  const quiet: number[] = [];
  for (let nth = 0; nth < QUERIES + WARM_UP; nth++) {
    const tookMs = await search(nth);
    if (nth >= WARM_UP) quiet.push(tookMs);
  }
  const untilMs = performance.now() + SECONDS * 1000;
  const uploads = uploadUntil(untilMs, url, authorization);
  const probes = probeUntil(untilMs, url, authorization);
  const busy: number[] = [];
  for (let nth = 0; performance.now() < untilMs; nth++) busy.push(await search(nth));
  const uploaded = await uploads;
  const { ready, found } = await probes;
  client.close();
  const ratio = quantile(busy, 0.99) / quantile(quiet, 0.99);
  const show = (times: number[]) =>
    `${quantile(times, 0.5).toFixed(1)} ms p50, ${quantile(times, 0.99).toFixed(1)} p99`;
  console.log(
    `fresh    hybrid of ${CHUNKS} chunks: ${show(quiet)}; with ${(uploaded / SECONDS).toFixed(0)} uploads a second: ` +
      `${show(busy)}; ratio at p99 ${ratio.toFixed(2)} (goal <= ${RATIO_MAX}); ` +
      `${found} of ${ready} ready documents were found by the very next search`,
  );
  if (found < ready) process.exitCode = 1;
}

async function upload(url: string, authorization: string, name: string, text: string): Promise<string> {
  const reply = await fetch(`${url}/v1/buckets/${BUCKET}/documents`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ filename: name, text }),
  });
  if (reply.status !== 202) throw new Error(`the upload was answered ${reply.status}: ${await reply.text()}`);
  return ((await reply.json()) as { id: string }).id;
}

/** @returns number of uploaded documents */
async function uploadUntil(untilMs: number, url: string, authorization: string): Promise<number> {
  const beganMs = performance.now();
  const pending: Promise<string>[] = [];
  while (performance.now() < untilMs) {
    const due = ((performance.now() - beganMs) / 1000) * PER_SECOND;
    while (pending.length < due) {
      const number = pending.length;
      const text = `${passages[number % passages.length]} Note ${number}.`;
      pending.push(upload(url, authorization, `note-${number}.txt`, text));
    }
    await delay(10);
  }
  await Promise.all(pending);
  return pending.length;
}

/** Upload documents with a word of their own, and search for each once when it is ready. */
async function probeUntil(untilMs: number, url: string, authorization: string) {
  const client = await LeanClient.open(`${url}/v2/buckets/${BUCKET}/search`, { authorization });
  let ready = 0;
  let found = 0;
  while (performance.now() < untilMs) {
    const word = `zanzibar${ready}q`;
    const id = await upload(url, authorization, `${word}.txt`, `The ${word} is here.`);
    for (;;) {
      const shown = await fetch(`${url}/v1/buckets/${BUCKET}/documents/${id}`, { headers: { authorization } });
      if (((await shown.json()) as { status: string }).status === 'ready') break;
      await delay(20);
    }
    ready++;
    const reply = await client.post(JSON.stringify({ query: word, mode: 'keyword', top_k: 1 }));
    const { results } = JSON.parse(reply.toString()) as { results: { document_id: string }[] };
    if (results[0]?.document_id === id) found++;
    await delay(PROBE_MS);
  }
  client.close();
  return { ready, found };
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number;
}
