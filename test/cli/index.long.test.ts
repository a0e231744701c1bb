import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { calibrate } from '../support/calibrate.ts';
import { CANARY_KEY, openTestGateway, type TestGateway } from '../support/gateway.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { syntheticTexts } from '../support/synthetic-models.ts';
import { until } from '../support/until.ts';
import { type Finished, runCommand, startService } from './service.ts';

// The commands index stats and index reproject, beside a running installation.
const ALPHA = 'vendor-a/alpha';
const BETA = 'vendor-a/beta';
const DOCUMENTS = 40;
const models = [ALPHA, BETA].map((id) => ({ id, vendor: 'vendor-a', dimensions: 128, max_tokens: 8192 }));

let test: TestGateway;
let env: NodeJS.ProcessEnv;
/** Environment of a command that cannot find the database, so that the server does what it says. */
let asking: NodeJS.ProcessEnv;

beforeAll(async () => {
  test = await openTestGateway({ models }, { semantic: true, dimensions: { alpha: 128, beta: 128 } });
  const file = path.join(test.dataDir, 'settings.yaml');
  const providers = {
    'vendor-a': { protocol: 'openai', base_url: test.upstream.baseUrl('openai'), api_key: CANARY_KEY },
  };
  writeFileSync(file, stringify({ providers, models }));
  env = { SERVICE_CONFIG: file, SERVICE_DATA_DIR: test.dataDir, DATABASE_URL: test.databaseUrl };
  asking = { SERVICE_DATA_DIR: test.dataDir };
  const { appliance, operator } = test;
  await appliance.embedding.routing.set(operator, { primary: BETA, fallback: null, mode: 'single' });
  const worker = appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  // The texts are long, so that there are several batches and a kill can hit between two.
  const texts = Array.from({ length: DOCUMENTS }, (_, n) =>
    syntheticTexts(500, n + 50)
      .map(({ text }) => text)
      .join('. '),
  );
  await ingestAll(
    appliance,
    operator,
    'default',
    texts.map((text, n) => ({ id: String(n), fileName: `${n}.txt`, text })),
  );
  await worker.stop();
}, 120_000);
afterAll(() => test.close());

const service = (...args: string[]): Promise<Finished> => runCommand(args, env);
const stats = async () => (await service('index', 'stats', '--bucket', 'default', '--json')).json().data[0];

it('index stats shows the vectors that reproject will convert', async () => {
  const [{ chunks } = { chunks: 0 }] = await test.appliance.sql`
    SELECT sum(chunks_count)::int AS chunks FROM documents`;
  expect(await stats()).toEqual({
    ...{ bucket_id: expect.stringMatching(/^bkt_/), bucket: 'default', model: BETA, space: `native:${BETA}@1` },
    ...{ documents: DOCUMENTS, chunks, words_only_chunks: 0, rows: chunks, reprojecting_to: null },
    ...{ fragments: expect.any(Number), small_fragments: expect.any(Number), unindexed_rows: expect.any(Number) },
    models: [{ model: BETA, revision: '1', map_version: null, documents: DOCUMENTS, chunks, native: true }],
  });
  const shown = await service('index', 'stats');
  expect(shown.code).toBe(0);
  for (const word of ['default', `native:${BETA}@1`, 'kept']) expect(shown.stdout).toContain(word);
  expect(shown.stdout.toLowerCase()).not.toContain('by words only');
});

it('index stats shows the chunks that are found by words only so far', async () => {
  const { sql } = test.appliance;
  const [document] = await sql`
    UPDATE documents SET keyword_only = true WHERE id = (SELECT min(id) FROM documents) RETURNING id, chunks_count`;
  const shown = await service('index', 'stats');
  expect(await stats()).toMatchObject({ words_only_chunks: document?.['chunks_count'] });
  await sql`UPDATE documents SET keyword_only = false WHERE id = ${document?.['id']}`;
  expect(shown.stdout).toMatch(new RegExp(String.raw`BY WORDS ONLY[^]*\n\s*default .* ${document?.['chunks_count']} `));
});

it('index rehearse estimates its cost, and then shows how the ranks of queries change', async () => {
  const file = path.join(test.dataDir, 'queries.jsonl');
  writeFileSync(file, '{"query": "harbour ferry", "relevant": ["3.txt"]}\n\n{"query": "tide and anchor"}\n');
  const rehearse = ['index', 'rehearse', '--bucket', 'default', '--model', ALPHA, '--sample', '100', '--queries', file];
  const estimate = await service(...rehearse, '--estimate', '--json');
  expect(estimate.json()).toMatchObject({ dry_run: true, rehearsal: { texts: 102, seconds: null }, results: [] });
  const asked = await runCommand([...rehearse, '--json'], asking);
  expect(asked.json()).toMatchObject({
    ...{ from_model: BETA, model: ALPHA, sample: { chunks: 100 }, queries: 2, judged: 1, rehearsal: { texts: 102 } },
    results: [
      { query: 'harbour ferry', ndcg: { before: expect.any(Number) } },
      { query: 'tide and anchor', ndcg: null },
    ],
  });
  const shown = await service(...rehearse, '--full');
  expect(shown.code).toBe(0);
  for (const text of ['harbour ferry', 'present model:', 'candidate:', 'nDCG@10', 'this rehearsal', 'MiB of vectors']) {
    expect(shown.stdout).toContain(text);
  }
  writeFileSync(file, '{"question": "harbour"}\n');
  const refused = await service(...rehearse, '--json');
  expect(refused.json().error.message).toContain('line 1: must be {"query": "…"}');
  expect(await stats()).toMatchObject({ model: BETA });
});

it('index reproject refuses without a map, and names the command that makes one', async () => {
  const refused = await service('index', 'reproject', '--model', BETA, '--yes', '--json');
  expect(refused.code).toBe(4);
  expect(refused.json().error).toMatchObject({ code: 'map_missing' });
  expect(refused.stderr).toContain(`service projections fit --model ${BETA}`);
});

it('index reproject changes nothing in a dry run, and otherwise asks first', async () => {
  await calibrate(test.appliance, ALPHA, { reference: true });
  await calibrate(test.appliance, BETA);
  const dry = await service('index', 'reproject', '--model', BETA, '--dry-run', '--json');
  const asked = await runCommand(['index', 'reproject', '--model', BETA, '--dry-run', '--json'], asking);
  expect([asked.json(), asked.stderr]).toEqual([dry.json(), dry.stderr]);
  expect(dry.json()).toMatchObject({ dry_run: true, mode: 'new_table', documents: DOCUMENTS, space: 'canon-v1' });
  const unconfirmed = await service('index', 'reproject', '--model', BETA, '--json');
  expect([unconfirmed.code, unconfirmed.json().error.code]).toEqual([2, 'confirmation_missing']);
  expect(await stats()).toMatchObject({ space: `native:${BETA}@1`, reprojecting_to: null });
});

it('index reproject finishes a killed run in the server, without any call to a provider', {
  timeout: 90_000,
}, async () => {
  const { sql } = test.appliance;
  const before = await stats();
  const calls = test.upstream.calls.length;
  const killed = startService(['index', 'reproject', '--model', BETA, '--yes'], env);
  await until(async () => (await sql`SELECT 1 FROM generations WHERE replaces IS NOT NULL`).length > 0);
  killed.child.kill('SIGKILL');
  await once(killed.child, 'close');
  expect(await stats()).toMatchObject({ space: before.space, rows: before.rows, reprojecting_to: 'canon-v1' });
  const finished = await runCommand(['index', 'reproject', '--model', BETA, '--yes', '--json'], asking);
  expect(finished.json()).toMatchObject({ mode: 'new_table', space: 'canon-v1', dry_run: false, models: [BETA] });
  expect(finished.stderr).toContain('projecting chunks');
  expect(await stats()).toMatchObject({
    ...{ space: 'canon-v1', documents: DOCUMENTS, chunks: before.chunks, rows: before.chunks, reprojecting_to: null },
    models: [{ model: BETA, map_version: expect.any(Number), documents: DOCUMENTS }],
  });
  expect(test.upstream.calls).toHaveLength(calls);
  const again = await service('index', 'reproject', '--model', BETA, '--yes', '--json');
  expect(again.json()).toMatchObject({ mode: 'nothing', documents: 0 });
});

it('index reembed shows its plan, moves the bucket with a worker of its own, and then has nothing to do', async () => {
  const { chunks } = await stats();
  const plan = await service('index', 'reembed', '--model', ALPHA, '--dry-run', '--json');
  expect(plan.code).toBe(0);
  expect(plan.json()).toMatchObject({ dry_run: true, job_id: null, model: ALPHA, chunks, texts: chunks });
  const quiet = await service('index', 'reembed', '--model', ALPHA, '--dry-run', '--quiet');
  expect(quiet).toMatchObject({ code: 0, stdout: expect.stringMatching(/^bucket default: .* to .*\n$/), stderr: '' });
  const unconfirmed = await service('index', 'reembed', '--model', ALPHA);
  expect(unconfirmed.code).toBe(2);
  expect(unconfirmed.stderr).toContain('--yes');
  test.upstream.decide = () => ({ kind: 'delay', ms: 1_000 });
  const moved = await service('index', 'reembed', '--model', ALPHA, '--yes', '--json');
  test.upstream.decide = () => null;
  expect(moved.code).toBe(0);
  // The batch is one of all texts, and the progress within it shows.
  expect(moved.stderr).toMatch(new RegExp(String.raw`^\[\d+/${chunks}\] embedding chunks, [\d.,]+/s, \w+ left$`, 'm'));
  expect(moved.json()).toMatchObject({ status: 'ready', model: ALPHA });
  expect(await stats()).toMatchObject({ model: ALPHA, chunks, rows: chunks, documents: DOCUMENTS });
  expect((await service('index', 'reembed', '--model', ALPHA, '--yes', '--json')).json()).toMatchObject({
    job_id: null,
  });
  const unknown = await service('index', 'reembed', '--model', 'no/such', '--yes', '--json');
  expect(unknown.code).toBe(2);
});
