/**
 * Benchmark of answers over HTTP, with a server in a separate process and a chat server that writes at once:
 * - time to the first word, less that of the chat server alone and of a search of the same questions;
 * - 100 answers at the same time, each of which the chat server writes for some seconds: memory of the server, the delay
 *   of its event loop as it exports it, without the 10 ms of its timer, and `GET /healthz`, which includes the delay of
 *   this process, where the clients and the chat server are.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createKey } from '../../src/access/keys.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';
import { startFakeChat } from '../support/fake-chat.ts';
import { fillIndex } from '../support/fill-index.ts';
import { drawQueries, readPassages } from '../support/real-passages.ts';
import { startServiceProcess } from '../support/service-process.ts';

const CHUNKS = 10_000;
const QUESTIONS = 150;
const WARM_UP = 20;
const STREAMS = 100;
const PART_MS = 50;
const TIMER_MS = 10;
const MIB = 1024 * 1024;
const SCOPE = { buckets: ['large'] };

const { dataDir, remove } = makeDataDir();
const appliance = await openAppliance(loadConfig({ env: {}, overrides: { data_dir: dataDir } }), {
  logger: openLogger('warn'),
});
const passages = readPassages(CHUNKS);
const chat = await startFakeChat('openai');
const operator = await appliance.access.operator('default');
const { sql } = appliance;
const bucket = await createBucket(sql, operator, { name: 'large', policy: BucketPolicy.parse({}) });
const place = { orgId: operator.orgId, bucketId: bucket.id };
await fillIndex({ sql, tables: appliance.search.lance.tables }, place, passages, { chunksPerDocument: 5, teams: 10 });
const { key } = await createKey(sql, appliance.keyRing, operator, { name: 'bench', scopes: ['search'] });
await appliance.close();
const limits = `concurrency_max: ${STREAMS}, concurrency_of_one_max: ${STREAMS}`;
const file = path.join(dataDir, 'bench.yaml');
writeFileSync(file, `answers: {protocol: openai, base_url: "${chat.url}", model: quotes, ${limits}}\n`);
const server = await startServiceProcess(['serve', '--port', '0', '--data-dir', dataDir], { SERVICE_CONFIG: file });
const url = server.ready['url'] as string;
const headers = { Authorization: `Bearer ${key.reveal()}`, 'Content-Type': 'application/json' };
try {
  const questions = drawQueries(passages, QUESTIONS + WARM_UP);
  await firstWords(questions);
  await manyAtOnce(questions);
} finally {
  await server.end('SIGTERM');
  await chat.close();
  remove();
}

async function firstWords(questions: readonly string[]): Promise<void> {
  const [searches, answers, alone]: [number[], number[], number[]] = [[], [], []];
  for (const [nth, query] of questions.entries()) {
    const search = await timed(() => post('/v2/buckets/large/search', { query, top_k: 10 }));
    const answer = await timed(() => untilText(query));
    const model = await timed(() => askAlone());
    if (nth < WARM_UP) continue;
    searches.push(search);
    answers.push(answer);
    alone.push(model);
  }
  const added = answers.map((ms, nth) => ms - (searches[nth] as number) - (alone[nth] as number));
  console.log(`time to the first word: p50 ${at(answers, 0.5)}, p95 ${at(answers, 0.95)} ms`);
  console.log(`a search: p50 ${at(searches, 0.5)}; the chat server alone: p50 ${at(alone, 0.5)} ms`);
  console.log(`added to both: p50 ${at(added, 0.5)}, p95 ${at(added, 0.95)} ms (goal: p50 50)`);
}

async function manyAtOnce(questions: readonly string[]): Promise<void> {
  chat.beforePart = () => delay(PART_MS);
  const before = residentBytes();
  await eventLoopDelay();
  const running = questions.slice(0, STREAMS).map((query) => post('/v1/answers', { query, ...SCOPE, stream: true }));
  let isDone = false;
  const all = Promise.all(running).finally(() => {
    isDone = true;
  });
  const delays: number[] = [];
  let most = before;
  while (!isDone) {
    delays.push(await timed(() => fetch(`${url}/healthz`).then((reply) => reply.arrayBuffer())));
    most = Math.max(most, residentBytes());
    await delay(10);
  }
  await all;
  console.log(`event loop of the server: p99 ${(await eventLoopDelay()).toFixed(1)} ms (goal 20)`);
  console.log(`${STREAMS} answers at once: memory ${mib(before)} -> ${mib(most)} MiB`);
  console.log(`GET /healthz meanwhile: p50 ${at(delays, 0.5)}, p99 ${at(delays, 0.99)} ms of ${delays.length}`);
}

/** Read the p99 delay of the server's event loop since the last call, in milliseconds. */
async function eventLoopDelay(): Promise<number> {
  const authorization = `Bearer ${readFileSync(server.ready['key_file'] as string, 'utf8').trim()}`;
  const metrics = await (await fetch(`${url}/metrics`, { headers: { authorization } })).text();
  return Number(/^service_nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(metrics)?.[1]) * 1000 - TIMER_MS;
}

async function post(to: string, json: object): Promise<string> {
  const reply = await fetch(url + to, { method: 'POST', headers, body: JSON.stringify(json) });
  if (!reply.ok) throw new Error(`${to}: ${reply.status} ${await reply.text()}`);
  return reply.text();
}

/** Ask a question, and read the stream to its first word, or to its end if no passage answers. */
async function untilText(query: string): Promise<void> {
  const body = JSON.stringify({ query, ...SCOPE, stream: true });
  const reply = await fetch(`${url}/v1/answers`, { method: 'POST', headers, body });
  let text = '';
  for await (const part of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part;
    if (text.includes('event: text')) break;
  }
}

/** Ask the chat server for one word, and read its stream to the first part. */
async function askAlone(): Promise<void> {
  const messages = [{ role: 'user', content: 'Passage 1 (a):\nOne word.\n\nQuestion: what?' }];
  const reply = await fetch(`${chat.url}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'quotes', messages, stream: true }),
  });
  for await (const _ of reply.body ?? []) break;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await work();
  return performance.now() - beganMs;
}

function at(times: readonly number[], share: number): string {
  const sorted = times.toSorted((a, b) => a - b);
  return (sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(1);
}

function residentBytes(): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) * 1024;
}

function mib(bytes: number): string {
  return (bytes / MIB).toFixed(0);
}
