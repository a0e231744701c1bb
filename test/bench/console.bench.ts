/**
 * Benchmark of the pages of the console in Chromium, with 10,000 documents in 500 buckets, 200 keys and 10,000 jobs:
 * the first paint, the requests of the API that a page makes, and the slowest of their responses. The second column is
 * the time until the page asks for nothing more. `node test/bench/console.bench.ts 50` uses a tenth of the rows.
 */
import { chromium, type Page } from 'playwright-core';
import { apiService } from '../../server/api-service.ts';
import { SCOPES } from '../../src/access/caller.ts';
import { createKey } from '../../src/access/keys.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { buildConsole } from '../../src/console/build.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';

const BUCKETS = Number(process.argv[2] ?? 500);
const DOCUMENTS = BUCKETS * 20;
const KEYS = BUCKETS * 0.4;
const ROUNDS = 3;
const GOAL_PAINT_MS = 1_000;
const GOAL_SERVER_MS = 200;

const PAGES = [
  ...['', '/system', '/documents', '/buckets/bkt_00001', '/search', '/ask'],
  ...['/metadata', '/map', '/jobs', '/insight', '/channels', '/sources', '/workflows', '/models', '/models/vendors'],
  ...['/models/local', '/models/routing', '/models/calibration', '/models/buckets', '/usage', '/account', '/keys'],
  ...['/people', '/assistants', '/organizations'],
];

await buildConsole();
const { dataDir, remove } = makeDataDir();
const config = loadConfig({ env: {}, overrides: { data_dir: dataDir, ballast_bytes: 0 } });
const appliance = await openAppliance(config, { logger: openLogger('warn') });
const { sql, keyRing } = appliance;
const operator = await appliance.access.operator('default');
const { orgId } = operator;
const api = apiService(appliance, { port: 0 });

async function fill(): Promise<void> {
  const buckets = sql`generate_series(1, ${BUCKETS}::int) n`;
  const bucketOf = sql`'bkt_' || lpad((1 + n % ${BUCKETS}::int)::text, 5, '0')`;
  await sql`
    INSERT INTO buckets (id, org_id, name, policy)
    SELECT 'bkt_' || lpad(n::text, 5, '0'), ${orgId}, 'archive ' || n, policy
    FROM ${buckets}, buckets WHERE org_id = ${orgId} AND name = 'default'`;
  await sql`
    INSERT INTO index_tables (bucket_id, version, settled, space, model)
    SELECT 'bkt_' || lpad(n::text, 5, '0'), 1, true, 'lexical-v1', 'local/lexical-1' FROM ${buckets}`;
  await sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, file_type, size_bytes, sha256, object_key, ingest_options,
                           status, metadata, privacy_level, active_generation)
    SELECT 'doc_' || lpad(n::text, 26, '0'), ${orgId}, ${bucketOf}, 'file-' || n || '.txt', 'txt', 1000, '\\x00', 'k', '{}',
           CASE WHEN n % 50 = 0 THEN 'failed' ELSE 'ready' END, jsonb_build_object('team', 'team-' || n % 30), 1, n
    FROM generate_series(1, ${DOCUMENTS}::int) n`;
  await sql`
    INSERT INTO generations (id, org_id, bucket_id, document_id, job_id, artifact_key, chunks_count, embed_model, space)
    SELECT n, ${orgId}, ${bucketOf}, 'doc_' || lpad(n::text, 26, '0'), 'job', 'k', 3, 'local/lexical-1', 'lexical-v1'
    FROM generate_series(1, ${DOCUMENTS}::int) n`;
  await sql`
    INSERT INTO jobs (id, kind, org_id, bucket_id, document_id, fair_rank, status, s3_key, file_name, file_size, created_at,
                      completed_at)
    SELECT 'job_' || lpad(n::text, 8, '0'), 'ingest', ${orgId}, ${bucketOf}, 'doc_' || lpad(n::text, 26, '0'), n, 'ready',
           'k', 'file-' || n || '.txt', 1000, now() - n * interval '1 minute', now()
    FROM generate_series(1, ${DOCUMENTS}::int) n`;
  await sql`
    INSERT INTO api_keys (id, org_id, name, hash, scopes, auth_level)
    SELECT 'k' || lpad(n::text, 7, '0'), ${orgId}, 'key ' || n, '\\x00', '{embed}', 1
    FROM generate_series(1, ${KEYS}::int) n`;
  await sql`
    INSERT INTO usage_by_actor (org_id, day, actor, requests, tokens)
    SELECT ${orgId}, current_date - n % 28, 'key:k' || lpad(n::text, 7, '0'), 1, n FROM generate_series(1, ${KEYS}::int) n`;
  await sql`VACUUM ANALYZE`;
}

interface Measured {
  readonly paintMs: number;
  readonly doneMs: number;
  readonly requests: number;
  /** Longest time from a request to the first byte of its response. */
  readonly serverMs: number;
  readonly slowest: string;
}

/** Read the times from the browser (https://www.w3.org/TR/resource-timing-2/, https://www.w3.org/TR/paint-timing/). */
async function measure(page: Page, address: string): Promise<Measured> {
  await page.goto(address, { waitUntil: 'networkidle' });
  const paintMs = (await page.evaluate(
    "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0",
  )) as number;
  const calls = (await page.evaluate(`performance.getEntriesByType('resource')
    .filter(({ name }) => /[/]v[12][/]/.test(name) && !name.includes('/events'))
    .map(({ name, requestStart, responseStart, responseEnd }) => ({ name, responseEnd, ms: responseStart - requestStart }))`)) as {
    name: string;
    responseEnd: number;
    ms: number;
  }[];
  const slowest = calls.toSorted((a, b) => b.ms - a.ms)[0];
  return {
    paintMs,
    doneMs: Math.max(0, ...calls.map(({ responseEnd }) => responseEnd)),
    requests: calls.length,
    serverMs: slowest?.ms ?? 0,
    slowest: slowest ? new URL(slowest.name).pathname : '',
  };
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

await fill();
await api.start(new AbortController().signal);
const { key } = await createKey(sql, keyRing, operator, { name: 'bench', scopes: [...SCOPES], authLevel: 10 });
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
await context.request.post(`${api.url}/v1/sessions`, { data: { credential: key.reveal() } });
const page = await context.newPage();
let isMet = true;
console.log(`${DOCUMENTS} documents, ${BUCKETS} buckets, ${KEYS} keys; medians of ${ROUNDS} loads`);
console.log('page                      first paint  complete  requests  slowest answer');
for (const part of PAGES) {
  const rounds: Measured[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await page.goto('about:blank');
    rounds.push(await measure(page, `${api.url}/console${part}`));
  }
  const of = (field: 'paintMs' | 'doneMs' | 'requests' | 'serverMs') =>
    Math.round(median(rounds.map((each) => each[field])));
  isMet &&= of('paintMs') <= GOAL_PAINT_MS && of('serverMs') <= GOAL_SERVER_MS;
  const [name, paint, done] = [`/console${part}`.slice(0, 24).padEnd(26), of('paintMs'), of('doneMs')];
  const row = [name, `${paint} ms`.padStart(9), `${done} ms`.padStart(10), String(of('requests')).padStart(8)];
  console.log(`${row.join(' ')}   ${of('serverMs')} ms ${rounds[0]?.slowest ?? ''}`);
}
console.log(`goal: first paint ${GOAL_PAINT_MS} ms, each answer ${GOAL_SERVER_MS} ms: ${isMet ? 'met' : 'MISSED'}`);
await browser.close();
await api.stop();
await appliance.close();
remove();
