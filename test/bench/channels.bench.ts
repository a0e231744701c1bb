/**
 * Benchmark of the webhook of messaging channels over HTTP, with a server in a separate process:
 * - replies from a bucket of 10,000 chunks with the built-in model, 20 deliveries a second over 50 bots;
 * - acknowledgements of events of Slack, and the replies that follow by a call, at the same rate;
 * - the time of a delivery for an unknown bot and of one with a wrong signature, and of events of Slack, alternating;
 * - the time of a reply while the embedding provider hangs.
 *
 * `GET /healthz` of the same run is the baseline.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from '../../src/access/caller.ts';
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
import { PLATFORMS, SLACK_SECRET, slackBody, slackHeaders, startPlatforms, takeReply } from '../support/platforms.ts';
import { drawQueries, readPassages } from '../support/real-passages.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

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
const appliance = await openAppliance(loadConfig({ env: {}, overrides: { data_dir: dataDir } }), {
  logger: openLogger('warn'),
});
const passages = readPassages(CHUNKS);
const platforms = await startPlatforms();
const upstream = await FakeUpstream.start({ dimensions: 1024 });
try {
  const operator = await appliance.access.operator('default');
  const { sql } = appliance;
  const bucket = await createBucket(sql, operator, { name: 'large', policy: BucketPolicy.parse({}) });
  const place = { orgId: operator.orgId, bucketId: bucket.id };
  await fillIndex({ sql, tables: appliance.search.lance.tables }, place, passages, {
    chunksPerDocument: 5,
    teams: 10,
  });
  for (let bot = 0; bot < BOTS; bot++) {
    const config = messengerConfig({ bot_id: `bot-${bot}`, collection: 'large' });
    await createChannel(appliance.channels, operator, { name: `bot ${bot}`, provider: 'messenger', config });
  }
  const slackPaths = await createSlackChannels(operator);
  const file = path.join(dataDir, 'platforms.yaml');
  writeFileSync(file, JSON.stringify({ channels: platforms.settings }));
  await withServer({ SERVICE_CONFIG: file }, async (url, pid) => {
    await measureReplies(url, pid);
    await measureLater(url, slackPaths);
    await measureRefusals(url);
    await measureRefusedEvents(url, slackPaths);
  });
  await measureHanging();
} finally {
  await appliance.close();
  await platforms.fake.close();
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

/** Measure replies to deliveries at a constant rate, independent of the time of earlier replies. */
async function measureReplies(url: string, pid: number): Promise<void> {
  const queries = drawQueries(passages, DELIVERIES + WARM_UP);
  const times: number[] = [];
  const baseline: number[] = [];
  const startMs = performance.now();
  const cpuBeforeMs = cpuMs(pid);
  let answered = 0;
  await Promise.all(
    queries.map(async (utterance, nth) => {
      await delay(Math.max(0, startMs + (nth * 1000) / PER_SECOND - performance.now()));
      const [tookMs, text] = await send(
        url,
        signedDelivery({ bot_id: `bot-${nth % BOTS}`, user_id: `u-${nth}`, utterance }),
      );
      const [healthMs] = await timed(() => fetch(`${url}/healthz`));
      if (nth < WARM_UP) return;
      times.push(tookMs);
      baseline.push(healthMs);
      if (text.startsWith('1. [')) answered++;
    }),
  );
  const each = (cpuMs(pid) - cpuBeforeMs) / queries.length;
  print(
    `replies, ${PER_SECOND}/s over ${BOTS} bots, ${CHUNKS} chunks`,
    `p50 ${quantileText(times, 0.5)} ms, p95 ${quantileText(times, 0.95)} ms (goal 300), max ${quantileText(times, 1)} ms; ` +
      `${answered} of ${times.length} with results; GET /healthz p50 ${quantileText(baseline, 0.5)} ms, p95 ${quantileText(baseline, 0.95)} ms; ` +
      `CPU of the server ${each.toFixed(1)} ms each`,
  );
}

async function createSlackChannels(operator: Caller): Promise<string[]> {
  const paths: string[] = [];
  for (let bot = 0; bot < BOTS; bot++) {
    const config = { collection: 'large', ...PLATFORMS['slack']?.config };
    const request = { name: `slack ${bot}`, provider: 'slack', config };
    const { channel } = await createChannel(appliance.channels, operator, request);
    paths.push(channel.webhook_path as string);
  }
  return paths;
}

/** Measure the acknowledgements of events, and the time until their replies arrive at the platform. */
async function measureLater(url: string, paths: readonly string[]): Promise<void> {
  const { fake } = platforms;
  const queries = drawQueries(passages, DELIVERIES);
  const arrivals = new Map<number, number>();
  fake.answer = (response, seen) => {
    const nth = Number(/C-(\d+)-/.exec(JSON.stringify(seen.body))?.[1]);
    arrivals.set(nth, performance.now());
    takeReply(response, seen);
  };
  const acknowledged: number[] = [];
  const sentMs: number[] = [];
  const startMs = performance.now();
  await Promise.all(
    queries.map(async (text, nth) => {
      await delay(Math.max(0, startMs + (nth * 1000) / PER_SECOND - performance.now()));
      const body = JSON.stringify(slackBody(text, nth));
      const headers = { 'content-type': 'application/json', ...slackHeaders(SLACK_SECRET, body) };
      sentMs[nth] = performance.now();
      const [tookMs, response] = await timed(() => fetch(url + paths[nth % BOTS], { method: 'POST', body, headers }));
      await response.text();
      acknowledged.push(tookMs);
    }),
  );
  await until(async () => arrivals.size === DELIVERIES, { withinMs: 60_000, what: 'all replies' });
  const replies = [...arrivals].map(([nth, atMs]) => atMs - (sentMs[nth] as number));
  print(
    `events of Slack, ${PER_SECOND}/s over ${BOTS} apps`,
    `acknowledged p50 ${quantileText(acknowledged, 0.5)} ms, p95 ${quantileText(acknowledged, 0.95)} ms (goal 300), ` +
      `max ${quantileText(acknowledged, 1)} ms (limit 3000); replies p50 ${quantileText(replies, 0.5)} ms, ` +
      `p95 ${quantileText(replies, 0.95)} ms; ${fake.seen.length} calls for ${DELIVERIES} events`,
  );
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
    // Alternate the order, since the first of two calls may find different data in the caches.
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

/** Measure refused Slack events: an unknown app, a wrong signature, and a stale valid signature. */
async function measureRefusedEvents(url: string, paths: readonly string[]): Promise<void> {
  const kinds = ['unknown', 'wrong', 'stale'] as const;
  const times = { unknown: [] as number[], wrong: [] as number[], stale: [] as number[] };
  const body = JSON.stringify(slackBody('how long is the warranty?', 1));
  const now = Math.floor(Date.now() / 1000);
  const signed = {
    unknown: slackHeaders(SLACK_SECRET, body),
    wrong: slackHeaders('another secret', body),
    stale: slackHeaders(SLACK_SECRET, body, now - 400),
  };
  for (let nth = 0; nth < TIMED_CALLS / 2; nth++) {
    for (const step of kinds.keys()) {
      const kind = kinds[(nth + step) % kinds.length] as (typeof kinds)[number];
      const right = paths[nth % BOTS] as string;
      const to = kind === 'unknown' ? right.replace(/.{6}$/, 'unknwn') : right;
      const headers = { 'content-type': 'application/json', ...signed[kind] };
      const [tookMs, response] = await timed(() => fetch(url + to, { method: 'POST', body, headers }));
      await response.text();
      if (response.status !== 403) throw new Error(`${kind}: ${response.status}`);
      times[kind].push(tookMs);
    }
  }
  const medians = kinds.map((kind) => quantile(times[kind], 0.5));
  const apart = 100 * (Math.max(...medians) / Math.min(...medians) - 1);
  print(
    `refused events of Slack, ${TIMED_CALLS / 2} of each kind`,
    `${kinds.map((kind, nth) => `${kind} ${medians[nth]?.toFixed(3)} ms`).join(', ')} at the median: ` +
      `${apart.toFixed(1)} % apart (goal 10)`,
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

async function send(
  url: string,
  { body, headers }: { readonly body: string; readonly headers: Record<string, string> },
  status = 200,
): Promise<[tookMs: number, text: string]> {
  const [tookMs, response] = await timed(() => fetch(url + WEBHOOK, { method: 'POST', body, headers }));
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
