import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

/**
 * Client that asks an installation for contents which must outlive an upgrade, and prints them as JSON:
 * `node contents.ts --url URL --admin-key FILE --made FILE`. The first run makes them: a key, documents and a bulk job,
 * whose ids it writes to the file `--made`. Later runs use that key only. It needs no packages, and uses only requests
 * that every release knows.
 */
const DOCUMENTS = 5;
const WORDS = ['glider', 'turbine', 'gasket', 'piston', 'nozzle'];
const FINISH_MS = 5 * 60_000;

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: '' },
    'admin-key': { type: 'string', default: '' },
    made: { type: 'string', default: '' },
  },
});

interface Made {
  readonly key: string;
  readonly documents: string[];
  readonly job: string;
}

// biome-ignore lint/suspicious/noExplicitAny: replies of any release
async function call(key: string, method: string, path: string, body?: unknown): Promise<any> {
  const headers = {
    Authorization: `Bearer ${key}`,
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
  };
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await fetch(`${values.url}${path}`, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

async function waitUntilReady(key: string, path: string): Promise<void> {
  const deadlineMs = performance.now() + FINISH_MS;
  for (;;) {
    const { status } = await call(key, 'GET', path);
    if (status === 'ready') return;
    if (status === 'failed' || performance.now() > deadlineMs) throw new Error(`${path} is ${status}`);
    await delay(100);
  }
}

async function make(): Promise<Made> {
  const admin = readFileSync(values['admin-key'], 'utf8').trim();
  const scopes = ['embed', 'search', 'documents:write'];
  const { key } = await call(admin, 'POST', '/v1/keys', { name: 'upgraded', scopes });
  const documents: string[] = [];
  for (let n = 0; n < DOCUMENTS; n++) {
    const text = `Report ${n} tells of the ${WORDS[n]} with the mark keep${n}x.`;
    const { id } = await call(key, 'POST', '/v1/buckets/default/documents', { filename: `kept-${n}.txt`, text });
    documents.push(id);
  }
  const texts = WORDS.map((word) => `a text about the ${word}`);
  const { id: job } = await call(key, 'POST', '/v1/embed/jobs', { texts });
  for (const id of documents) await waitUntilReady(key, `/v1/buckets/default/documents/${id}`);
  await waitUntilReady(key, `/v1/embed/jobs/${job}`);
  const made = { key, documents, job };
  writeFileSync(values.made, JSON.stringify(made));
  return made;
}

async function read({ key, documents, job }: Made) {
  const kept = [];
  for (const [n, id] of documents.entries()) {
    const { status, file_name } = await call(key, 'GET', `/v1/buckets/default/documents/${id}`);
    const { text } = await call(key, 'GET', `/v1/buckets/default/documents/${id}/text`);
    const { results } = await call(key, 'POST', '/v2/buckets/default/search', { query: `keep${n}x`, top_k: 1 });
    const [first] = results;
    kept.push({ id, status, file_name, text, found: { id: first?.document_id, text: first?.text } });
  }
  const { status } = await call(key, 'GET', `/v1/embed/jobs/${job}`);
  const { data: vectors } = await call(key, 'GET', `/v1/embed/jobs/${job}/result?limit=1000`);
  return { documents: kept, job: { id: job, status, vectors } };
}

const made: Made = existsSync(values.made) ? JSON.parse(readFileSync(values.made, 'utf8')) : await make();
process.stdout.write(JSON.stringify(await read(made)));
