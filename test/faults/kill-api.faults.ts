import { createHash, randomUUID } from 'node:crypto';
import { afterEach, expect, it } from 'vitest';
import { openStoredInput } from '../../src/bulk/input.ts';
import { inputKey } from '../../src/bulk/object-keys.ts';
import { createTestRandom } from '../support/random.ts';
import { until } from '../support/until.ts';
import { type Fleet, openFleet, TINY } from './fleet.ts';
import { routeToUpstream } from './ingest-jobs.ts';
import { reportFigures } from './report-figures.ts';
import { scaled } from './scaled.ts';

const KILLS = 200;
const CONCURRENT_PROCESSES = 3;
/** Concurrent requests to one process. The process is killed when the first is answered and the others are pending. */
const CONCURRENT_REQUESTS = 4;
const CHUNK_TEXTS = 100;

let fleet: Fleet;
afterEach(() => fleet.close());

interface Submitted {
  readonly kind: 'upload' | 'bulk';
  readonly path: string;
  readonly json: Record<string, unknown>;
  readonly idempotencyKey: string;
  /** Hash of the bytes of an upload. */
  readonly sha256: string;
  /** Texts of a bulk job. */
  readonly texts: readonly string[];
}

it('requests that were answered with a 2xx are stored even if the API is killed right after the answer', async () => {
  fleet = await openFleet();
  await routeToUpstream(fleet);
  const { sql, objects } = fleet.appliance;
  const random = createTestRandom('kill the API');
  const kills = scaled(KILLS);
  const key = await fleet.key({ scopes: ['embed', 'documents:write'] });
  const answered = new Map<Submitted, { id: string; jobId: string }>();
  let unanswered = 0;
  let serial = 0;

  const make = (): Submitted => {
    const name = `thing-${serial++}`;
    const idempotencyKey = randomUUID();
    if (random.int(2) === 0) {
      const texts = Array.from({ length: 1 + random.int(250) }, (_, i) => `${name} text ${i}`);
      const json = { texts, model: TINY.id };
      return { kind: 'bulk', path: '/v1/embed/jobs', json, idempotencyKey, sha256: '', texts };
    }
    const text = `${name} `.repeat(1 + random.int(5_000));
    const sha256 = createHash('sha256').update(text).digest('hex');
    const json = { filename: `${name}.txt`, text };
    return { kind: 'upload', path: '/v1/buckets/default/documents', json, idempotencyKey, sha256, texts: [] };
  };
  const send = async (url: string, { path, json, idempotencyKey }: Submitted) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey,
    };
    const reply = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(json) });
    const body = (await reply.json()) as Record<string, string>;
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${JSON.stringify(body)}`);
    return { id: body['id'] as string, jobId: body['job_id'] ?? (body['id'] as string) };
  };
  /** Request that was answered just before a kill. Sending it again must find its result. */
  let retry: Submitted | null = null;
  let doubled = 0;

  const runAndKill = async () => {
    const api = await fleet.spawn(['serve', '--port', '0', '--no-workers']);
    const url = api.ready['url'] as string;
    const again = retry;
    retry = null;
    if (again !== null && (await send(url, again)).id !== answered.get(again)?.id) doubled++;
    const requests = Array.from({ length: CONCURRENT_REQUESTS }, make);
    const all = requests.map(async (request) => {
      const reply = await send(url, request);
      answered.set(request, reply);
      retry = request;
    });
    await Promise.any(all);
    await api.end('SIGKILL');
    const outcomes = await Promise.allSettled(all);
    unanswered += outcomes.filter((outcome) => outcome.status === 'rejected').length;
  };
  let left = kills;
  const runProcesses = async () => {
    while (left-- > 0) await runAndKill();
  };
  await Promise.all(Array.from({ length: CONCURRENT_PROCESSES }, runProcesses));

  let lost = 0;
  for (const [{ kind, sha256, texts }, { id, jobId }] of answered) {
    const [job] = await sql`SELECT org_id, s3_key FROM jobs WHERE id = ${jobId}`;
    if (!job) lost++;
    else if (kind === 'upload') {
      const [document] = await sql`SELECT object_key, sha256 FROM documents WHERE id = ${id}`;
      const bytes = document && (await objects.get(document['object_key'] as string).catch(() => null));
      if (!bytes || createHash('sha256').update(bytes).digest('hex') !== sha256) lost++;
    } else {
      const chunks = Math.ceil(texts.length / CHUNK_TEXTS);
      const input = await openStoredInput(objects, inputKey(job['org_id'] as string, jobId), chunks).catch(() => null);
      const stored: string[] = [];
      for (let chunk = 0; input !== null && chunk < chunks; chunk++) stored.push(...(await input.readChunk(chunk)));
      if (JSON.stringify(stored) !== JSON.stringify(texts)) lost++;
    }
  }
  // Requests without an answer are stored whole or not at all, so every stored job can be done.
  const workers = await Promise.all([fleet.spawn(['worker', 'embed']), fleet.spawn(['worker', 'ingest'])]);
  const open = () => sql`SELECT id FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')`;
  await until(async () => (await open()).length === 0, { withinMs: 60_000, everyMs: 200 }).catch(() => undefined);
  await Promise.all(workers.map((worker) => worker.end('SIGTERM')));
  const stuck = (await open()).length;
  const failed = await sql`SELECT id, error_message FROM jobs WHERE status <> 'ready'`;
  reportFigures({
    guarantee: 'API killed right after an answer',
    ...{ n: kills, lost: lost + failed.length, doubled, stuck, worstRecoveryMs: null },
    note: `${answered.size} answered, ${unanswered} cut off`,
  });
  expect({ lost, doubled, stuck, failed: [...failed] }).toEqual({ lost: 0, doubled: 0, stuck: 0, failed: [] });
  expect(answered.size).toBeGreaterThanOrEqual(kills);
});
