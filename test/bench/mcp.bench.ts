/**
 * Benchmark of the tool server over HTTP beside the REST call that it makes: 100 sessions that call a tool every five
 * seconds, and as many REST calls from the same process in the same minute; then 1,000 sessions that are opened and dropped.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';

const SESSIONS = 100;
const EVERY_MS = 5000;
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 60);
const WARM_UP_CALLS = 6000;
const WARM_UP_AT_ONCE = 8;
const DROPPED = 1000;
const DROPPED_ROUNDS = 3;
const IDLE_SECONDS = 20;
const TOKEN = 'token-of-the-benchmark';
const agent = new Agent({ connections: 2 * SESSIONS, pipelining: 1 });
const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));

async function start(
  program: string,
  args: string[],
  env: Record<string, string>,
): Promise<{ child: ChildProcess; line: string }> {
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'], SERVICE_LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')) as [string];
  return { child, line };
}

async function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  const reply = await request(url, {
    dispatcher: agent,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${TOKEN}`,
      ...headers,
    },
    body: JSON.stringify(body),
  });
  const text = await reply.body.text();
  if (reply.statusCode !== 200) throw new Error(`${reply.statusCode}: ${text}`);
  return { text, session: String(reply.headers['mcp-session-id'] ?? '') };
}

const rpc = (id: number, method: string, params: object) => ({ jsonrpc: '2.0', id, method, params });
const clientInfo = { name: 'bench', version: '1' };
const open = (url: string) =>
  post(url, rpc(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }));
const SEARCH = { name: 'service_search', arguments: { query: 'ferry' } };
const MODERN = '2026-07-28';
const envelope = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** Call a tool in a session, or in the revision without sessions. */
async function callTool(url: string, session: string | null): Promise<void> {
  const { text } =
    session !== null
      ? await post(url, rpc(2, 'tools/call', SEARCH), { 'mcp-session-id': session })
      : await post(url, rpc(2, 'tools/call', { ...SEARCH, _meta: envelope }), {
          'mcp-protocol-version': MODERN,
          'mcp-method': 'tools/call',
          'mcp-name': SEARCH.name,
        });
  if (!text.includes('structuredContent')) throw new Error(text.slice(0, 500));
}

/** Measure the latencies of calls by many clients, each every five seconds, evenly spread. */
async function paced(seconds: number, call: (client: number) => Promise<void>): Promise<number[]> {
  const latencies: number[] = [];
  const endMs = performance.now() + seconds * 1000;
  await Promise.all(
    Array.from({ length: SESSIONS }, async (_, client) => {
      await delay((client / SESSIONS) * EVERY_MS);
      while (performance.now() < endMs) {
        const beganMs = performance.now();
        await call(client);
        latencies.push(performance.now() - beganMs);
        await delay(Math.max(EVERY_MS - (performance.now() - beganMs), 0));
      }
    }),
  );
  return latencies.sort((one, other) => one - other);
}

/** Call without a pause until the heap has its final size. */
async function warmUp(call: (client: number) => Promise<void>): Promise<void> {
  await Promise.all(
    Array.from({ length: WARM_UP_AT_ONCE }, async (_, client) => {
      for (let n = 0; n < WARM_UP_CALLS / WARM_UP_AT_ONCE; n++) await call(client);
    }),
  );
}

const quantile = (sorted: number[], part: number) => sorted[Math.floor((sorted.length - 1) * part)] as number;
const rssMb = (pid: number) =>
  (Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024) / 1e6;
const sessionsOf = async (url: string) =>
  ((await (await fetch(url.replace('/mcp', '/healthz'))).json()) as { sessions: number }).sessions;

async function compare(
  name: string,
  seconds: number,
  url: string,
  pid: number,
  api: string,
  sessions: string[] | null,
) {
  const rest = () => post(`${api}/v2/buckets/default/search`, SEARCH.arguments).then(() => {});
  const memory: string[] = [];
  const look = setInterval(() => memory.push(rssMb(pid).toFixed(0)), (seconds * 1000) / 4.5);
  const [tool, direct] = await Promise.all([
    paced(seconds, (client) => callTool(url, sessions?.[client] ?? null)),
    paced(seconds, rest),
  ]);
  clearInterval(look);
  const row = (part: number) => {
    const [own, floor] = [quantile(tool, part), quantile(direct, part)];
    return `${own.toFixed(1)} ms over ${floor.toFixed(1)} ms: +${(own - floor).toFixed(1)} ms`;
  };
  console.log(
    `mcp      ${name}: ${tool.length} calls in ${seconds} s; p50 ${row(0.5)}; p95 ${row(0.95)}; memory ${memory.join(', ')} MB`,
  );
}

const api = await start(process.execPath, [script('../support/search-api-child.ts')], {});
const tools = await start(script('../../bin/service-mcp'), ['--http'], {
  ...{ PORT: '0', SERVICE_API_BASE_URL: api.line, SERVICE_API_KEY: 'svc_bench', SERVICE_MCP_BEARER_TOKEN: TOKEN },
  SERVICE_MCP_SESSION_IDLE_SECONDS: String(IDLE_SECONDS),
});
try {
  const url = tools.line.replace('listening on ', '');
  const pid = tools.child.pid as number;
  const openAll = (count: number) => Promise.all(Array.from({ length: count }, async () => (await open(url)).session));
  const warm = await openAll(WARM_UP_AT_ONCE);
  await warmUp((client) => callTool(url, warm[client] as string));
  const sessions = await openAll(SESSIONS);
  await compare('100 sessions (2025-11-25)', SECONDS, url, pid, api.line, sessions);
  await warmUp(() => callTool(url, null));
  await compare('100 clients (2026-07-28)', SECONDS, url, pid, api.line, null);
  const before = rssMb(pid);
  const after: string[] = [];
  for (let round = 0; round < DROPPED_ROUNDS; round++) {
    for (let at = 0; at < DROPPED; at += SESSIONS) {
      const opened = await Promise.all(Array.from({ length: SESSIONS }, () => open(url)));
      await Promise.all(opened.map(({ session }) => callTool(url, session)));
    }
    const most = await sessionsOf(url);
    while ((await sessionsOf(url)) > 0) await delay(500);
    after.push(`${most} open, then 0, ${rssMb(pid).toFixed(0)} MB`);
  }
  console.log(
    `mcp      ${DROPPED} sessions opened and dropped, ${DROPPED_ROUNDS} times: before ${before.toFixed(0)} MB; ${after.join('; ')}`,
  );
} finally {
  tools.child.kill('SIGTERM');
  api.child.kill('SIGTERM');
  await agent.close();
}
