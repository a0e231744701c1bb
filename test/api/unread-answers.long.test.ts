import { readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiRoutes } from '../../server/api-service.ts';
import type { Route } from '../../server/route.ts';
import { SCOPES } from '../../src/access/caller.ts';
import { createKey } from '../../src/access/keys.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';
import { requestOf } from '../support/route-matrix.ts';
import { type MatrixIds, MISSING, REQUESTS } from '../support/route-requests.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

// Clients that ask every route in parallel and never read the answers. The requests come from the route table, so a new
// route is tested without being named here.

const MIB = 1024 * 1024;
const PARALLEL = 24;
/** Memory of the server for one unread answer, whatever its size. */
const BYTES_OF_ONE_MAX = 5 * MIB;
const ANSWERED_WITHIN_MS = 60_000;

/** Requests whose answers are large, in addition to those of the route table. */
const TEXTS = Array.from({ length: 100 }, (_, n) => `text ${n}`);
const LARGE: Readonly<Record<string, () => Record<string, unknown>>> = {
  createEmbeddings: () => ({ input: TEXTS }),
  embedBatch: () => ({ texts: TEXTS }),
  dryRunWorkflow: () => ({ inputs: { text: 'x'.repeat(25_000) } }),
  runWorkflow: () => ({ inputs: { text: 'x'.repeat(25_000) }, mode: 'simulate' }),
  searchBucket: () => ({ query: 'word', top_k: 100 }),
};
/** Workflow whose few blocks multiply its input. */
const MULTIPLYING = {
  inputs: { text: { type: 'string', default: 'x' } },
  blocks: [1, 2, 3, 4].map((n) => ({ id: `b${n}`, type: 'template', with: { text: '{{inputs.text}} '.repeat(10) } })),
};
/** Addresses of pages and files, which the route table does not name. */
const FILES: Readonly<Record<string, string>> = { getReferenceAsset: '/docs/assets/swagger-ui-bundle.js' };

let server: ServiceProcess;
let url: string;
let routes: readonly Route[];
let ids: MatrixIds;
let key: string;
let dataDir: string;
let remove: () => void;

beforeAll(async () => {
  ({ dataDir, remove } = makeDataDir());
  const config = loadConfig({ env: {}, overrides: { data_dir: dataDir } });
  const appliance = await openAppliance(config, { logger: openLogger('silent') });
  routes = apiRoutes(appliance, () => {});
  const operator = await appliance.access.operator('default');
  const scopes = SCOPES.filter((scope) => scope !== 'platform_admin');
  const created = await createKey(appliance.sql, appliance.keyRing, operator, { name: 'test', scopes, authLevel: 10 });
  key = created.key.reveal();
  await appliance.close();
  server = await startServiceProcess(['serve', '--port', '0', '--data-dir', dataDir], {
    SERVICE_LOG_LEVEL: 'silent',
    NODE_OPTIONS: '--max-old-space-size=512',
  });
  url = server.ready['url'] as string;
  ids = await seed();
});
afterAll(async () => {
  await server?.end('SIGTERM');
  remove?.();
});

async function call(method: string, path: string, json?: unknown): Promise<Record<string, string>> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const reply = await fetch(url + path, {
    method,
    headers,
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  return (await reply.json()) as Record<string, string>;
}

/** Create large and small resources that the requests name. */
async function seed(): Promise<MatrixIds> {
  const bucket = (await call('GET', '/v1/buckets/default'))['id'] as string;
  const collection = (await call('POST', `/v1/buckets/${bucket}/collections`, { name: 'shelf' }))['id'] as string;
  const text = Array.from({ length: 30_000 }, (_, n) => `Word and number ${n} of a long text, 긴 글.`).join('\n');
  const upload = await call('POST', `/v1/buckets/${bucket}/documents`, { filename: 'long.txt', text });
  const bulk = await call('POST', '/v1/embed/jobs', { texts: TEXTS });
  const workflow = (await call('POST', '/v1/workflows', { name: 'multiply', definition: MULTIPLYING }))['id'] as string;
  await call('POST', `/v1/workflows/${workflow}/publish`, {});
  // Its job is queued again by each request of the matrix.
  const short = await call('POST', `/v1/buckets/${bucket}/documents`, { filename: 'short.txt', text: 'A short word.' });
  const run = await call('POST', `/v1/workflows/${workflow}/run`, { inputs: {}, mode: 'simulate' });
  for (const path of [`/v1/jobs/${upload['job_id']}`, `/v1/embed/jobs/${bulk['id']}`]) {
    await until(async () => (await call('GET', path))['status'] === 'ready', { withinMs: 120_000, everyMs: 100 });
  }
  return {
    ...{ ...MISSING, bucket, collection, workflow, run: run['run_id'] as string },
    ...{ document: upload['id'] as string, job: short['job_id'] as string, bulkJob: bulk['id'] as string },
  };
}

/** Send a request; resolves when its answer has begun, of which nothing more is read. */
function askUnread(head: string, body: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('readable', () => {
      socket.on('error', () => undefined);
      resolve(socket);
    });
    socket.write(head + body);
  });
}

function residentBytes(field: 'VmHWM' | 'VmRSS'): number {
  const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) * 1024;
}

/** Measure by how much the server's memory grows while many clients do not read the answers of a route. */
async function growthOf(route: Route): Promise<number> {
  const { path, json } = requestOf(route, ids);
  const body = JSON.stringify(LARGE[route.operationId]?.() ?? json ?? {});
  const hasBody = route.reads !== 'none';
  const head = [
    `${route.method} ${FILES[route.operationId] ?? path} HTTP/1.1`,
    ...['Host: localhost', 'Accept-Encoding: identity', `Authorization: Bearer ${key}`],
    ...(hasBody ? ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`] : []),
  ].join('\r\n');
  // The kernel counts the largest memory anew.
  writeFileSync(`/proc/${server.pid}/clear_refs`, '5');
  const before = residentBytes('VmRSS');
  const asked = Array.from({ length: PARALLEL }, () => askUnread(`${head}\r\n\r\n`, hasBody ? body : ''));
  const timer = AbortSignal.timeout(ANSWERED_WITHIN_MS);
  await Promise.race([
    Promise.all(asked),
    new Promise((_, reject) =>
      timer.addEventListener('abort', () => reject(new Error(`${route.operationId}: no answer`))),
    ),
  ]);
  const growth = residentBytes('VmHWM') - before;
  for (const socket of await Promise.all(asked)) socket.destroy();
  return growth;
}

describe.each(['cold', 'warm'])('%s', () => {
  test('answers that nobody reads take bounded memory, on every route', async () => {
    expect(Object.keys(REQUESTS).toSorted()).toEqual(routes.map(({ operationId }) => operationId).toSorted());
    const tooMuch: string[] = [];
    // Revoking and signing out would end the key of the test.
    for (const route of routes.filter(({ method }) => method !== 'DELETE')) {
      const growth = await growthOf(route);
      if (growth > PARALLEL * BYTES_OF_ONE_MAX) tooMuch.push(`${route.operationId}: ${Math.round(growth / MIB)} MiB`);
      expect(server.ended()).toBeNull();
    }
    expect(tooMuch).toEqual([]);
  });
});
