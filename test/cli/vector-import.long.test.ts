import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { calibrate } from '../support/calibrate.ts';
import { semanticVectorOf } from '../support/fake-upstream/semantic.ts';
import { CANARY_KEY, openTestGateway, type TestGateway } from '../support/gateway.ts';
import { syntheticTexts } from '../support/synthetic-models.ts';
import { until } from '../support/until.ts';
import { type Finished, runCommand, startService } from './service.ts';

// The command index import, without a server: a worker in the process of the command ingests the rows.

const LIVE = 'vendor-a/live';
const OLD = 'vendor-a/old';
const DIMENSIONS = { live: 128, old: 96 };
const models = [
  { id: LIVE, vendor: 'vendor-a', dimensions: DIMENSIONS.live, max_tokens: 8192 },
  { id: OLD, vendor: 'vendor-a', dimensions: DIMENSIONS.old, max_tokens: 8192 },
];
const ROWS = 1_200;
const TEXTS = syntheticTexts(ROWS, 123).map(({ text }) => text);
const vectorOf = (text: string) => [...semanticVectorOf('old', text, DIMENSIONS.old)];
const VECTORS = TEXTS.map(vectorOf);

let test: TestGateway;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  test = await openTestGateway({ models }, { semantic: true, dimensions: DIMENSIONS });
  const settings = path.join(test.dataDir, 'settings.yaml');
  const provider = { protocol: 'openai', base_url: test.upstream.baseUrl('openai'), api_key: CANARY_KEY };
  writeFileSync(settings, stringify({ providers: { 'vendor-a': provider }, models }));
  env = { SERVICE_CONFIG: settings, SERVICE_DATA_DIR: test.dataDir, DATABASE_URL: test.databaseUrl };
  await calibrate(test.appliance, LIVE, { reference: true });
  await calibrate(test.appliance, OLD);
  const { appliance, operator } = test;
  await appliance.embedding.routing.set(operator, { primary: LIVE, fallback: null, mode: 'single' });
}, 120_000);
afterAll(() => test.close());

const service = (...args: string[]): Promise<Finished> => runCommand(args, env);

function written(name: string, lines: readonly string[]): string {
  const file = path.join(test.dataDir, name);
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}
const lineOf = (vector: readonly number[], nth: number) =>
  JSON.stringify({ id: `row-${nth}`, vector, text: nth % 2 === 0 ? TEXTS[nth] : null, metadata: { nth } });

async function documents(bucket: string): Promise<number> {
  const [row] = await test.appliance.sql`
    SELECT count(*)::int AS documents FROM documents JOIN buckets ON buckets.id = bucket_id
    WHERE buckets.name = ${bucket} AND documents.status = 'ready'`;
  return row?.['documents'];
}

it('checks all rows first, and names the line of a fault at the end without storing anything', async () => {
  await service('buckets', 'create', 'faulty');
  const lines = VECTORS.map(lineOf);
  lines[1_100] = lineOf([1, 0], 1_100);
  const file = written('faulty.jsonl', lines);
  const failed = await service('index', 'import', '--bucket', 'faulty', '--vectors', file, '--model', OLD);
  expect(failed.code).toBe(2);
  expect(failed.stderr).toContain(
    `${file}, line 1101 (id row-1100): vector: has 2 numbers, but ${OLD} has 96; nothing was imported`,
  );
  lines[1_100] = lineOf(VECTORS[3] as number[], 3);
  written('faulty.jsonl', lines);
  const repeated = await service('index', 'import', '--bucket', 'faulty', '--vectors', file, '--model', OLD);
  expect(repeated.stderr).toContain(`${file}, line 1101: "row-3" is already the id of line 4`);
  expect(await documents('faulty')).toBe(0);
});

it('imports an old index after a dry run, and finds its rows; again, it changes nothing', async () => {
  await service('buckets', 'create', 'old');
  const file = written('old.jsonl', VECTORS.map(lineOf));
  const args = ['index', 'import', '--bucket', 'old', '--vectors', file, '--model', OLD];
  const dry = await service(...args, '--dry-run');
  expect(dry.stderr).toContain('JSON lines: ids from id, vectors from vector, text from text, metadata from metadata');
  expect(dry.stdout).toMatch(/would be added\s+1200/);
  expect(await documents('old')).toBe(0);

  const report = (await service(...args, '--json')).json();
  expect(report).toMatchObject({
    ...{ model: OLD, space: 'canon-v1', dry_run: false, rows: ROWS },
    ...{ added: ROWS, replaced: 0, unchanged: 0, without_text: ROWS / 2, failed: 0, faults: [] },
  });
  expect(await documents('old')).toBe(ROWS);
  const key = await test.key({ scopes: ['search'], authLevel: 10 });
  for (const nth of [0, 1, 600, ROWS - 1]) {
    const json = { query: TEXTS[nth], mode: 'vector', top_k: 1 };
    const { body } = await test.call('POST', '/v2/buckets/old/search', { key, json });
    expect(body.results[0]).toMatchObject({ metadata: { nth: String(nth) }, citation: { source_path: `row-${nth}` } });
  }

  const again = (await service(...args, '--json')).json();
  expect(again).toMatchObject({ added: 0, replaced: 0, unchanged: ROWS, failed: 0 });
}, 180_000);

it('goes on after an interruption', async () => {
  await service('buckets', 'create', 'stopped');
  const file = written('stopped.jsonl', VECTORS.map(lineOf));
  const args = ['index', 'import', '--bucket', 'stopped', '--vectors', file, '--model', OLD];
  const { child, finished } = startService(args, env);
  await until(async () => (await documents('stopped')) > 0, { what: 'the first rows', withinMs: 60_000 });
  child.kill('SIGINT');
  const stopped = await finished;
  const before = await documents('stopped');
  expect(stopped.code).not.toBe(0);
  const report = (await service(...args, '--json')).json();
  expect(report.added + report.unchanged).toBe(ROWS);
  expect(report.failed).toBe(0);
  expect(before).toBeLessThanOrEqual(ROWS);
  // Rows that were sent before, and whose jobs went back to the queue, are ingested by this run, too.
  expect(await documents('stopped')).toBe(ROWS);
}, 180_000);
