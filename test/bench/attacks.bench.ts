/**
 * Benchmark of what other callers notice of an attack. One organization attacks a server with a heap of 1 GiB, in ways
 * that its rights allow; another searches meanwhile, one request at a time. Server, attacker and the other caller's
 * measurements are as real as on one machine: all share its cores.
 *
 * `alone`: p99 of the searches in the seconds before. `meanwhile`: p99 until the attack is over. Goal: at most twice as
 * much, or 20 ms more. `answers`: statuses that the attacker got. An argument selects attacks by a part of their names.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createKey } from '../../src/access/keys.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { HOSTILE_MARKDOWN } from '../ingest/hostile-markdown.ts';
import { makeDataDir } from '../support/appliance.ts';
import { makeOdf } from '../support/office-samples.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { LeanClient } from './lean-client.ts';

const MIB = 1024 * 1024;
const ALONE_MS = 4_000;
const ATTACK_MS = 6_000;
/** Pause between two searches of the other caller. */
const PAUSE_MS = 10;
const GOAL_MORE_MS = 20;
const HEAP_MIB = 1024;

interface Target {
  readonly url: string;
  readonly key: string;
  readonly count: (status: number) => void;
}

/** Repeats its requests until the signal aborts. */
type Attack = (target: Target, signal: AbortSignal) => Promise<void>;

async function send(target: Target, method: string, path: string, body: string | Buffer, type = 'application/json') {
  const headers = { Authorization: `Bearer ${target.key}`, 'Content-Type': type };
  try {
    const reply = await fetch(target.url + path, { method, headers, body });
    target.count(reply.status);
    return (await reply.json()) as Record<string, unknown>;
  } catch {
    target.count(0);
    return {};
  }
}

/** Run `once` on several connections, again and again. */
function repeated(connections: number, attack: (target: Target, nth: number) => Promise<unknown>): Attack {
  let nth = 0;
  return async (target, signal) => {
    const work = async () => {
      while (!signal.aborted) await attack(target, nth++);
    };
    await Promise.all(Array.from({ length: connections }, work));
  };
}

const tiny = Buffer.concat([Buffer.from('{"filename":"a","x":['), Buffer.alloc(63 * MIB, '{},'), Buffer.from('{}]}')]);
const text16 = Buffer.from(JSON.stringify({ query: 'x', more: 'y'.repeat(15 * MIB) }));
const condition = (n: number) => ({ type: 'eq', key: `k${n}`, value: 'v' });
const filterOf = (conditions: number) =>
  JSON.stringify({
    query: 'merger',
    filter: { type: 'or', filters: Array.from({ length: conditions }, (_, n) => condition(n)) },
  });
const links = Buffer.from((HOSTILE_MARKDOWN['open links'] as (chars: number) => string)(20 * MIB));
const cells = `<table:table-row table:number-rows-repeated="1000"><table:table-cell table:number-columns-repeated="1000"><text:p>wide</text:p></table:table-cell></table:table-row>`;
const sheet = makeOdf('spreadsheet', `<table:table table:name="S">${cells.repeat(4)}</table:table>`);
const uploadOf = (filename: string, bytes: Buffer) =>
  JSON.stringify({ filename, content_base64: bytes.toString('base64'), on_duplicate: 'allow' });

const BULK = '/v1/buckets/default/documents/metadata/bulk';
const SEARCH = '/v2/buckets/default/search';
const UPLOAD = '/v1/buckets/default/documents';

const ATTACKS: Record<string, Attack> = {
  '1. 64 MB of tiny objects in JSON': repeated(2, (target) => send(target, 'POST', UPLOAD, tiny)),
  '1. 16 MB to a search': repeated(2, (target) => send(target, 'POST', SEARCH, text16)),
  '2. 20 MB of open links in Markdown': async (target, signal) => {
    await send(target, 'POST', UPLOAD, uploadOf('links.md', links));
    await delay(ATTACK_MS, undefined, { signal }).catch(() => undefined);
  },
  '2. sheets of a million repeated cells': repeated(1, async (target) => {
    await send(target, 'POST', UPLOAD, uploadOf('cells.ods', sheet));
    await delay(1_000);
  }),
  '3. filters of 10,000 conditions': repeated(8, (target) => send(target, 'POST', SEARCH, filterOf(10_000))),
  '3. filters of 50 conditions': repeated(40, (target) => send(target, 'POST', SEARCH, filterOf(50))),
  '4. 200 bodies of 16 MB at 1.6 kB/s': slowBodies,
  '5. dry runs that count': repeated(4, (target, nth) => {
    const statement = `UPDATE documents SET x = '1' WHERE salary LIKE '${nth % 10}%'`;
    return send(target, 'PATCH', BULK, JSON.stringify({ statement, dry_run: true }));
  }),
  '6. searches for words': repeated(4, (target, nth) =>
    send(target, 'POST', SEARCH, JSON.stringify({ query: `merger word${nth}` })),
  ),
};

/** Announce large bodies, and send them slowly; meanwhile another large body of any caller must be accepted. */
async function slowBodies({ url, key, count }: Target, signal: AbortSignal): Promise<void> {
  const { hostname, port } = new URL(url);
  const head = `POST ${UPLOAD} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${16 * MIB}\r\n\r\n`;
  const sockets = Array.from({ length: 200 }, () => connect(Number(port), hostname).on('error', () => undefined));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const socket of sockets) socket.write(head);
  while (!signal.aborted) {
    for (const socket of sockets) socket.write(Buffer.alloc(1600, ' '));
    await delay(1_000);
    const answer = { url, key: other, count };
    await send(answer, 'POST', UPLOAD, JSON.stringify({ filename: 'a.txt', text: 'word '.repeat(200_000) }));
  }
  for (const socket of sockets) socket.destroy();
}

const { dataDir, remove } = makeDataDir();
const { attacker, other } = await makeKeys();
const server = await startServiceProcess(['serve', '--port', '0', '--data-dir', dataDir], {
  NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`,
  SERVICE_LOG_LEVEL: 'silent',
});
try {
  const url = server.ready['url'] as string;
  await fetch(url + UPLOAD, {
    method: 'POST',
    headers: { Authorization: `Bearer ${other}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ filename: 'a.txt', text: 'The merger of the harbour offices was announced.' }),
  });
  await measureSearches(url, AbortSignal.timeout(ALONE_MS));
  const wanted = process.argv[2] ?? '';
  for (const [name, attack] of Object.entries(ATTACKS)) {
    if (name.includes(wanted)) await measure(name, attack, url);
  }
} finally {
  await server.end('SIGTERM');
  remove();
}

async function makeKeys(): Promise<{ attacker: string; other: string }> {
  const appliance = await openAppliance(loadConfig({ env: {}, overrides: { data_dir: dataDir } }), {
    logger: openLogger('warn'),
  });
  const { access, sql, keyRing } = appliance;
  const scopes = ['search', 'documents:write', 'buckets:manage'] as const;
  const keys: string[] = [];
  for (const name of ['attacker', 'other']) {
    await access.createOrganization({ name, plan: 'free' });
    const operator = await access.operator(name);
    keys.push((await createKey(sql, keyRing, operator, { name, scopes: [...scopes], authLevel: 3 })).key.reveal());
  }
  await appliance.close();
  return { attacker: keys[0] as string, other: keys[1] as string };
}

async function measure(name: string, attack: Attack, url: string): Promise<void> {
  const alone = await measureSearches(url, AbortSignal.timeout(ALONE_MS));
  const answers = new Map<number, number>();
  const count = (status: number) => void answers.set(status, (answers.get(status) ?? 0) + 1);
  const over = AbortSignal.timeout(ATTACK_MS);
  const ended = new AbortController();
  const attacking = attack({ url, key: attacker, count }, over).finally(() => ended.abort());
  const meanwhile = await measureSearches(url, ended.signal);
  await attacking;
  const isGood = meanwhile.p99 <= Math.max(alone.p99 * 2, alone.p99 + GOAL_MORE_MS);
  const statuses = [...answers].map(([status, times]) => `${times} x ${status === 0 ? 'closed' : status}`).join(', ');
  console.log(
    `${name.padEnd(40)} alone ${alone.p99.toFixed(1)} ms  meanwhile ${meanwhile.p99.toFixed(1)} ms (p50 ${meanwhile.p50.toFixed(1)})` +
      `  memory at most ${peakMib()} MiB  answers ${statuses}  ${isGood ? 'ok' : 'MISSED'}`,
  );
  if (!isGood || server.ended() !== null) process.exitCode = 1;
}

/** Search one after the other until the signal aborts. Returns times in milliseconds. */
async function measureSearches(url: string, signal: AbortSignal): Promise<{ p50: number; p99: number }> {
  const client = await LeanClient.open(url + SEARCH, { authorization: `Bearer ${other}` });
  const times: number[] = [];
  while (!signal.aborted) {
    const beganMs = performance.now();
    await client.post(JSON.stringify({ query: 'merger of the offices' }));
    times.push(performance.now() - beganMs);
    await delay(PAUSE_MS);
  }
  client.close();
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Largest resident memory of the server's process so far. */
function peakMib(): number {
  const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024);
}
