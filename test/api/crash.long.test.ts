import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { makeDataDir } from '../support/appliance.ts';
import { until } from '../support/until.ts';

const DOCUMENTS = 60;
const service = fileURLToPath(new URL('../../bin/service.js', import.meta.url));
const { dataDir, remove } = makeDataDir();
let running: ChildProcess | null = null;

afterAll(async () => {
  await stop('SIGTERM');
  remove();
});

/** Start `service serve` on the data directory; resolves with its address and key once it is ready. */
async function serve(): Promise<{ url: string; key: string }> {
  const child = spawn(process.execPath, [service, 'serve', '--port', '0', '--json', '--data-dir', dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], SERVICE_LOG_LEVEL: 'error' },
  });
  running = child;
  for await (const line of createInterface({ input: child.stdout })) {
    const { url, key_file: keyFile } = JSON.parse(line) as { url: string; key_file: string };
    return { url, key: readFileSync(keyFile, 'utf8').trim() };
  }
  throw new Error('`service serve` ended before it printed its address');
}

async function stop(signal: NodeJS.Signals): Promise<void> {
  const child = running;
  running = null;
  if (!child || child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await ended;
}

it('after kill -9 in the middle of ingest every uploaded document becomes ready exactly once', {
  timeout: 120_000,
}, async () => {
  const first = await serve();
  const call = async (at: { url: string; key: string }, path: string, json?: unknown) => {
    const reply = await fetch(at.url + path, {
      method: json === undefined ? 'GET' : 'POST',
      headers: { Authorization: `Bearer ${at.key}`, 'Content-Type': 'application/json' },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: read by the expectations below
    return (await reply.json()) as any;
  };
  const uploaded = new Set<string>();
  for (let i = 0; i < DOCUMENTS; i++) {
    const text = `# Report ${i}\n\n${`Finding number ${i} concerns the estuary. `.repeat(200)}`;
    uploaded.add((await call(first, '/v1/buckets/default/documents', { filename: `report-${i}.md`, text })).id);
  }
  await until(async () => (await call(first, '/v1/jobs?status=ready')).length > 0, {
    everyMs: 5,
    what: 'the first ready job',
  });
  await stop('SIGKILL');

  const second = await serve();
  const jobs = await until(
    async () => {
      // Jobs of buckets make vectors meanwhile.
      const all = (await call(second, '/v1/jobs?limit=200')).filter(
        (job: { document_id: string | null }) => job.document_id !== null,
      );
      return all.every((job: { status: string }) => job.status === 'ready') && all;
    },
    { withinMs: 90_000, everyMs: 100, what: 'all jobs ready' },
  );
  expect(jobs).toHaveLength(DOCUMENTS);
  expect(new Set(jobs.map((job: { document_id: string }) => job.document_id))).toEqual(uploaded);
  const documents = await call(second, `/v1/buckets/default/documents?limit=200`);
  expect(documents.data.every((document: { status: string }) => document.status === 'ready')).toBe(true);
  for (const i of [0, 17, DOCUMENTS - 1]) {
    const found = await call(second, '/v2/buckets/default/search', {
      query: `finding number ${i} estuary`,
      top_k: 100,
    });
    const chunks = found.results.map(
      (result: { document_id: string; chunk_index: number }) => `${result.document_id}/${result.chunk_index}`,
    );
    expect(new Set(chunks).size).toBe(chunks.length);
  }
});
