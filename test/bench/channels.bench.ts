/**
 * Benchmark of the webhook of messaging channels over HTTP, with a server in a separate process:
 * - replies from a bucket of 10,000 chunks with the built-in model, 20 deliveries a second over 50 bots, first signed
 *   deliveries and then skill requests of KakaoTalk;
 * - the time of a delivery for an unknown bot and of one with a wrong signature, alternating;
 * - the time of a reply while the embedding provider hangs.
 *
 * `GET /healthz` of the same run is the baseline.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { createChannel } from '../../src/channels/configs.ts';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';
import { messengerConfig, signedDelivery, WEBHOOK } from '../support/channels.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { fillIndex } from '../support/fill-index.ts';
import { drawQueries, readPassages } from '../support/real-passages.ts';
import { startServiceProcess } from '../support/service-process.ts';

const CHUNKS = 10_000;
const BOTS = 50;
const PER_SECOND = 20;
const DELIVERIES = 600;
const WARM_UP = 60;
const TIMED_CALLS = 2_000;
const HANGING_DELIVERIES = 5;
/** Unit of CPU time in `/proc`. */
const TICK_MS = 10;

const { dataDir, remove } = makeDataDir();
/** Request that asks a question. */
type Asking = (url: string, nth: number, utterance: string) => Promise<[tookMs: number, text: string]>;

const appliance = await openAppliance(loadConfig({ env: {}, overrides: { data_dir: dataDir } }), {
  logger: openLogger('warn'),
});
const passages = readPassages(CHUNKS);
const upstream = await FakeUpstream.start({ dimensions: 1024 });
try {
  const operator = await appliance.access.operator('default');
  const { sql } = appliance;
  const bucket = await createBucket(sql, operator, { name: 'large', policy: BucketPolicy.parse({}) });
  const place = { orgId: operator.orgId, bucketId: bucket.id };
  await fillIndex({ sql, tables: appliance.search.chunks.tables }, place, passages, {
    chunksPerDocument: 5,
    teams: 10,
  });
  for (let bot = 0; bot < BOTS; bot++) {
    const config = messengerConfig({ bot_id: `bot-${bot}`, collection: 'large' });
    await createChannel(appliance.channels, operator, { name: `bot ${bot}`, provider: 'messenger', config });
  }
  const skills: string[] = [];
  for (let bot = 0; bot < BOTS; bot++) {
    const request = { name: `skill ${bot}`, provider: 'kakao', config: { collection: 'large' } };
    const { channel } = await createChannel(appliance.channels, operator, request);
    skills.push(channel.webhook_path ?? '');
  }
  await withServer({}, async (url, pid) => {
    await measureReplies('replies', url, pid, askSigned);
    await measureReplies('replies to skills of KakaoTalk', url, pid, (of, nth, utterance) =>
      askSkill(of + skills[nth % BOTS], nth, utterance),
    );
    await measureRefusals(url);
  });
  await measureHanging();
} finally {
  await appliance.close();
  await upstream.close();
  remove();
}

async function withServer(env: NodeJS.ProcessEnv, use: (url: string, pid: number) => Promise<void>): Promise<void> {
  const server = await startServiceProcess(['serve', '--no-workers', '--port', '0', '--data-dir', dataDir], env);
  try {
    await use(server.ready['url'] as string, server.pid);
  } finally {
    await server.end('SIGTERM');
  }
}

/** Measure replies to deliveries at a constant rate, which does not depend on the time of earlier replies. */
async function measureReplies(name: string, url: string, pid: number, ask: Asking): Promise<void> {
  const queries = drawQueries(passages, DELIVERIES + WARM_UP);
  const times: number[] = [];
  const baseline: number[] = [];
  const startMs = performance.now();
  const cpuBeforeMs = cpuMs(pid);
  let answered = 0;
  await Promise.all(
    queries.map(async (utterance, nth) => {
      await delay(Math.max(0, startMs + (nth * 1000) / PER_SECOND - performance.now()));
      const [tookMs, text] = await ask(url, nth, utterance);
      const [healthMs] = await timed(() => fetch(`${url}/healthz`));
      if (nth < WARM_UP) return;
      times.push(tookMs);
      baseline.push(healthMs);
      if (text.startsWith('1. [')) answered++;
    }),
  );
  const each = (cpuMs(pid) - cpuBeforeMs) / queries.length;
  print(
    `${name}, ${PER_SECOND}/s over ${BOTS} bots, ${CHUNKS} chunks`,
    `p50 ${quantileText(times, 0.5)} ms, p95 ${quantileText(times, 0.95)} ms (goal 300), max ${quantileText(times, 1)} ms; ` +
      `${answered} of ${times.length} with results; GET /healthz p50 ${quantileText(baseline, 0.5)} ms, p95 ${quantileText(baseline, 0.95)} ms; ` +
      `CPU of the server ${each.toFixed(1)} ms each`,
  );
}

function askSigned(url: string, nth: number, utterance: string): Promise<[tookMs: number, text: string]> {
  return send(url, signedDelivery({ bot_id: `bot-${nth % BOTS}`, user_id: `u-${nth}`, utterance }));
}

function askSkill(url: string, nth: number, utterance: string): Promise<[tookMs: number, text: string]> {
  const body = JSON.stringify({ userRequest: { utterance, user: { id: `u-${nth}` } } });
  return post(url, { body, headers: { 'content-type': 'application/json' } }, 200);
}

/** Return the CPU time of a process so far, in user and kernel mode. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

async function measureRefusals(url: string): Promise<void> {
  const times = { unknown: [] as number[], wrong: [] as number[] };
  for (let nth = 0; nth < TIMED_CALLS; nth++) {
    const fields = { utterance: 'how long is the warranty?', user_id: `u-${nth}` };
    const wrong = signedDelivery({ ...fields, bot_id: `bot-${nth % BOTS}` }, { secret: 'wrong' });
    const unknown = signedDelivery({ ...fields, bot_id: `not-${nth % BOTS}` });
    // The order alternates, since the first of two calls may find other data in the caches.
    for (const kind of nth % 2 === 0 ? (['wrong', 'unknown'] as const) : (['unknown', 'wrong'] as const)) {
      const [tookMs] = await send(url, kind === 'wrong' ? wrong : unknown, 403);
      times[kind].push(tookMs);
    }
  }
  const [wrong, unknown] = [quantile(times.wrong, 0.5), quantile(times.unknown, 0.5)];
  print(
    `refusals, ${TIMED_CALLS} of each kind`,
    `unknown bot ${unknown.toFixed(3)} ms, wrong signature ${wrong.toFixed(3)} ms at the median: ` +
      `${(100 * Math.abs(unknown / wrong - 1)).toFixed(1)} % apart (goal 10)`,
  );
}

async function measureHanging(): Promise<void> {
  upstream.decide = () => ({ kind: 'stall' });
  const file = path.join(dataDir, 'hanging.yaml');
  const provider = { protocol: 'tei', base_url: upstream.baseUrl('tei'), timeout_seconds: 600 };
  writeFileSync(
    file,
    JSON.stringify({
      projections: { auto: 'off' },
      providers: { 'vendor-d': provider },
      alias: { 'service-embed-1-small': { default: 'vendor-d/bge-m3-ko' } },
      embeddings: { deadline_seconds: 600 },
    }),
  );
  await withServer({ SERVICE_CONFIG: file }, async (url) => {
    const [times, texts]: [number[], string[]] = [[], []];
    const queries = drawQueries(passages, HANGING_DELIVERIES);
    for (const [nth, utterance] of queries.entries()) {
      const [tookMs, text] = await send(url, signedDelivery({ bot_id: `bot-${nth}`, user_id: `h-${nth}`, utterance }));
      times.push(tookMs);
      texts.push(text);
    }
    const found = texts.filter((text) => text.startsWith('1. [')).length;
    print(
      'replies while the provider hangs',
      `max ${quantileText(times, 1)} ms (goal 4000); ${found} of ${texts.length} found by keyword, the others get a fixed line`,
    );
  });
}

interface Delivery {
  readonly body: string;
  readonly headers: Record<string, string>;
}

function send(url: string, delivery: Delivery, status = 200): Promise<[tookMs: number, text: string]> {
  return post(url + WEBHOOK, delivery, status);
}

async function post(url: string, { body, headers }: Delivery, status: number): Promise<[tookMs: number, text: string]> {
  const [tookMs, response] = await timed(() => fetch(url, { method: 'POST', body, headers }));
  const text = await response.text();
  if (response.status !== status) throw new Error(`${response.status} ${text}`);
  return [tookMs, status === 200 ? JSON.parse(text).template.outputs[0].simpleText.text : text];
}

async function timed(call: () => Promise<Response>): Promise<[tookMs: number, response: Response]> {
  const startMs = performance.now();
  const response = await call();
  return [performance.now() - startMs, response];
}

function quantile(times: readonly number[], part: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number;
}

function quantileText(times: readonly number[], part: number): string {
  return quantile(times, part).toFixed(1);
}

function print(name: string, figures: string): void {
  console.log(`channels ${name}: ${figures}`);
}
