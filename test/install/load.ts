import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, FormData, fetch } from 'undici';

/**
 * Client that keeps an installation busy until it gets SIGTERM, then waits for the end of all documents and jobs that
 * were accepted, and writes what it saw as JSON: `node load.ts --url URL --key FILE --out FILE`. It embeds texts over
 * connections that stay open and over new ones, uploads documents, and submits bulk jobs. No request is repeated.
 */
const BULK_TEXTS = 200;
/** Time that all work that was accepted may take. */
const FINISH_MS = 10 * 60_000;

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: '' },
    key: { type: 'string', default: '' },
    out: { type: 'string', default: '' },
  },
});
const headers = { Authorization: `Bearer ${readFileSync(values.key, 'utf8').trim()}` };
const seen = {
  ...{ requests: 0, failed: [] as string[], slowest_ms: 0 },
  ...{ documents: [] as string[], jobs: [] as string[] },
  /** Documents and jobs that were accepted and are missing, or did not end well. */
  lost: [] as string[],
};
let isEnding = false;
process.on('SIGTERM', () => {
  isEnding = true;
});

const kept = new Agent({ connections: 8, pipelining: 1 });
const fresh = new Agent({ connections: 8, pipelining: 0 });

async function send(agent: Agent, path: string, init: object): Promise<Record<string, unknown> | null> {
  const beganMs = performance.now();
  seen.requests++;
  try {
    const response = await fetch(`${values.url}${path}`, { method: 'POST', dispatcher: agent, ...init });
    const text = await response.text();
    if (response.ok) return JSON.parse(text);
    seen.failed.push(`${path} ${response.status} ${text.slice(0, 200)}`);
  } catch (error) {
    const { message, cause } = error as Error;
    seen.failed.push(`${path} ${message} ${String(cause)}`);
  } finally {
    seen.slowest_ms = Math.max(seen.slowest_ms, performance.now() - beganMs);
  }
  return null;
}

function json(body: unknown): object {
  return { headers: { ...headers, 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
}

async function embed(agent: Agent): Promise<void> {
  for (let n = 0; !isEnding; n++) await send(agent, '/v1/embeddings', json({ input: `text ${n}`, dimensions: 8 }));
}

async function upload(): Promise<void> {
  for (let n = 0; !isEnding; n++) {
    const body = new FormData();
    body.set('file', new File([`Document ${n} tells of the bearing number ${n}.`], `document-${n}.txt`));
    const made = await send(kept, '/v1/buckets/default/documents', { headers, body });
    if (made !== null) seen.documents.push(String(made['id']));
    await delay(100);
  }
}

async function submit(): Promise<void> {
  while (!isEnding) {
    const texts = Array.from({ length: BULK_TEXTS }, (_, n) => `bulk text ${n}`);
    const made = await send(kept, '/v1/embed/jobs', json({ texts }));
    if (made !== null) seen.jobs.push(String(made['id']));
    await delay(300);
  }
}

/** Wait until the document or job of a path is ready. @returns what is wrong, or null */
async function waitForEnd(path: string, deadlineMs: number): Promise<string | null> {
  for (;;) {
    const found = await send(kept, path, { method: 'GET', headers });
    const status = found?.['status'];
    if (status === 'ready') return null;
    if (found === null || status === 'failed' || status === 'cancelled') return `${path} is ${status ?? 'missing'}`;
    if (performance.now() > deadlineMs) return `${path} is still ${status}`;
    await delay(200);
  }
}

async function findLost(): Promise<void> {
  const deadlineMs = performance.now() + FINISH_MS;
  const note = (fault: string | null) => fault !== null && seen.lost.push(fault);
  for (const id of seen.documents) note(await waitForEnd(`/v1/buckets/default/documents/${id}`, deadlineMs));
  for (const id of seen.jobs) {
    const fault = await waitForEnd(`/v1/embed/jobs/${id}`, deadlineMs);
    note(fault);
    if (fault !== null) continue;
    const page = await send(kept, `/v1/embed/jobs/${id}/result?limit=1`, { method: 'GET', headers });
    const { total } = (page?.['pagination'] ?? {}) as { total?: number };
    if (total !== BULK_TEXTS) note(`the result of ${id} has ${total} texts`);
  }
}

process.stdout.write('ready\n');
await Promise.all([embed(kept), embed(kept), embed(kept), embed(fresh), embed(fresh), upload(), submit()]);
await findLost();
writeFileSync(values.out, JSON.stringify(seen));
process.exit(0);
