import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { updateLegWeights } from '../../src/index/index-store.ts';
import { weightsFor } from '../../src/search/fuse.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { FIXTURES } from '../support/local-models.ts';
import { until } from '../support/until.ts';
import { type Finished, runCommand } from './service.ts';

// The commands of local models, beside a running installation with an ingest worker.
const DOCUMENTS = Array.from({ length: 12 }, (_, at) => ({
  id: `d${at}`,
  fileName: `d${at}.txt`,
  text: `the quick brown fox ${['engine', 'search', 'vector', 'paper', 'token', 'model'][at % 6]} number ${at}`,
}));

let test: TestApi;
let env: NodeJS.ProcessEnv;
let folder: string;

beforeAll(async () => {
  test = await openTestApi();
  env = { SERVICE_DATA_DIR: test.dataDir, DATABASE_URL: test.databaseUrl };
  folder = mkdtempSync(path.join(tmpdir(), 'service-models-'));
  await ingestAll(test.appliance, test.operator, 'default', DOCUMENTS);
}, 120_000);
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await test.close();
});

const service = (...args: string[]): Promise<Finished> => runCommand(args, env);
const modelOf = async () => {
  const { stdout } = await service('buckets', 'show', 'default', '--json');
  return JSON.parse(stdout).embedding.model;
};

describe('the commands of local models', () => {
  it('without --yes and without a terminal a model is installed, and stderr says how to use it', async () => {
    const { code, stderr, json } = await service(
      'models',
      'install',
      path.join(FIXTURES, 'decoder'),
      '--as',
      'local/first',
      '--json',
    );
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(json()).toMatchObject({
      name: 'local/first',
      kind: 'embedding',
      dimension: 32,
      pooling: 'last',
      primary: false,
      jobs: [],
    });
    expect(stderr).toContain('service routing set local/first');
    expect(await modelOf()).toBe('local/lexical-1');
  });

  it('with --yes the first model becomes primary, and the buckets are embedded by it while the server runs', async () => {
    const archive = path.join(folder, 'small.tar.gz');
    cpSync(path.join(FIXTURES, 'bert'), path.join(folder, 'small'), { recursive: true });
    expect(spawnSync('tar', ['-czf', archive, '-C', folder, 'small']).status).toBe(0);
    const { code, stderr, json } = await service('models', 'install', archive, '--yes', '--json');
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const installed = json();
    expect(installed).toMatchObject({ name: 'local/small', primary: true, jobs: [expect.stringMatching(/^job_/)] });
    const waited = await service('jobs', 'show', installed.jobs[0], '--json');
    expect(waited.code).toBe(0);
    await test.appliance.localModels.refresh();
    await until(async () => (await modelOf()) === 'local/small', { withinMs: 100_000, everyMs: 500 });
  }, 120_000);

  it('models list shows installed models, and its --json is GET /v1/models', async () => {
    const table = await service('models', 'list');
    expect(table.stdout).toMatch(/local\/small +embedding +fp32/);
    const ids = (await service('models', 'list', '--json')).json().data.map(({ id }: { id: string }) => id);
    expect(ids).toContain('local/small');
  });

  it('models remove refuses a model that a bucket uses, and names the bucket', async () => {
    const { code, stderr } = await service('models', 'remove', 'local/small', '--yes');
    expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringContaining('is used by the bucket default') });
    expect((await service('models', 'show', 'local/small')).code).toBe(0);
  });

  it('models show tells settings and files, and models test runs models and rerankers', async () => {
    const shown = (await service('models', 'show', 'local/small', '--json')).json();
    expect(shown).toMatchObject({ max_tokens: 64, prefixes: { retrieval_query: 'query: ' } });
    expect(shown.files.map((file: { path: string }) => file.path)).toContain('onnx/model.onnx');
    expect(
      (await service('models', 'install', path.join(FIXTURES, 'reranker'), '--reranker', '--as', 'local/ranker')).code,
    ).toBe(0);
    const tested = (await service('models', 'test', 'local/small', 'local/ranker', '--json')).json();
    expect(tested.data.map(({ status }: { status: string }) => status)).toEqual(['ok', 'ok']);
  });

  it('index tune prints what it found, and keeps it only with --apply', async () => {
    const file = path.join(folder, 'judged.jsonl');
    const lines = DOCUMENTS.map(({ fileName, text }) => JSON.stringify({ query: text, relevant: [fileName] }));
    writeFileSync(file, lines.join('\n'));
    const weights = async () => (await test.appliance.sql`SELECT leg_weights FROM index_tables`)[0]?.['leg_weights'];
    const tuned = await service('index', 'tune', '--queries', file, '--json');
    expect({ code: tuned.code, stderr: tuned.stderr }).toMatchObject({ code: 0 });
    expect(tuned.json()).toMatchObject({
      queries: DOCUMENTS.length,
      applied: false,
      present: weightsFor('semantic'),
    });
    expect(await weights()).toBeNull();
    const applied = (await service('index', 'tune', '--queries', file, '--apply', '--json')).json();
    expect(applied.best.ndcg).toBeGreaterThanOrEqual(applied.present.ndcg);
    const { keyword, vector } = applied.best;
    expect(await weights()).toMatchObject({ keyword, vector });
  });

  it('searches use the weights of the bucket, until it is embedded by another model', async () => {
    const key = await test.key({ scopes: ['search', 'buckets:manage'] });
    const weightsOfSearch = async () => {
      const json = { query: DOCUMENTS[0]?.text, explain: true };
      const { explain } = (await test.call('POST', '/v2/buckets/default/search', { key, json })).body.results[0];
      return { keyword: explain.keyword.weight, vector: explain.vector.weight };
    };
    const [bucket] = await test.appliance.sql`SELECT bucket_id FROM index_tables`;
    const usual = weightsFor('lexical');
    const own = { keyword: 1, vector: usual.vector * 2 };
    await updateLegWeights(test.appliance.sql, bucket?.['bucket_id'] as string, own);
    expect(await weightsOfSearch()).toEqual(own);
    const reembed = { key, json: { model: 'local/lexical-1' } };
    expect((await test.call('POST', '/v1/buckets/default/reembed', reembed)).status).toBe(202);
    await until(async () => (await modelOf()) === 'local/lexical-1', { withinMs: 100_000, everyMs: 500 });
    expect(await weightsOfSearch()).toEqual(usual);
  }, 120_000);

  it('index tune refuses a file that judges nothing', async () => {
    const file = path.join(folder, 'bad.jsonl');
    writeFileSync(file, '{"query": "fox"}\n');
    const { code, stderr } = await service('index', 'tune', '--queries', file);
    expect(code).toBe(2);
    expect(stderr).toContain('line 1');
  });

  it.each([
    ['a source that does not exist', ['./nowhere'], 'is not a folder, a tar archive or a hub id'],
    ['a name that is not allowed', [path.join(FIXTURES, 'bert'), '--as', 'Mine'], '--as: Mine must be local/NAME'],
    ['a variant that is not known', [path.join(FIXTURES, 'bert'), '--variant', 'int4'], '--variant'],
    ['prompts that are no file', [path.join(FIXTURES, 'bert'), '--prompts', 'nowhere.json'], '--prompts'],
    ['a file that is no archive', [path.join(FIXTURES, 'README.md')], 'not a tar archive'],
  ])('models install refuses %s with exit code 2 and a sentence', async (_title, args, message) => {
    const { code, stderr } = await service('models', 'install', ...args);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
  });

  it('models remove removes a model, and one that is not there is exit code 3', async () => {
    expect((await service('models', 'remove', 'local/first', '--yes')).code).toBe(0);
    expect((await service('models', 'remove', 'local/first', '--yes')).code).toBe(3);
    expect((await service('models', 'show', 'local/first')).code).toBe(3);
  });
});
