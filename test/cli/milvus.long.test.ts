import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { startVersionServer } from '../support/fake-milvus.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { milvusAvailable, startMilvus, type TestMilvus } from '../support/milvus.ts';
import { runCommand } from './service.ts';

const MS_MAX = 120_000;

/** Write the settings of commands, and return their environment. */
function environmentOf({ dataDir, databaseUrl }: TestAppliance, url: string): NodeJS.ProcessEnv {
  writeFileSync(path.join(dataDir, 'service.yaml'), JSON.stringify({ index: { milvus: { url } } }));
  return { SERVICE_DATA_DIR: dataDir, DATABASE_URL: databaseUrl };
}

it(
  'serve, a worker and doctor refuse a Milvus without BM25 with a sentence',
  async () => {
    const test = await openTestAppliance();
    const server = await startVersionServer('v2.4.23');
    try {
      const env = environmentOf(test, `http://127.0.0.1:${server.port}`);
      for (const command of [
        ['serve', '--port', '0'],
        ['worker', 'ingest'],
      ]) {
        const { code, stderr } = await runCommand(command, env);
        expect(code).not.toBe(0);
        expect(stderr).toContain('the Milvus at index.milvus.url has version v2.4.23; it must be Milvus 2.5 or later');
      }
      const { stdout } = await runCommand(['doctor'], env);
      expect(stdout).toContain('v2.4.23');
    } finally {
      await server.close();
      await test.close();
    }
  },
  MS_MAX,
);

describe.skipIf(!milvusAvailable())('commands of buckets on Milvus', () => {
  let milvus: TestMilvus;
  let test: TestAppliance;
  let worker: Service;
  let env: NodeJS.ProcessEnv;
  beforeAll(async () => {
    milvus = await startMilvus();
    test = await openTestAppliance({ index: { milvus: { url: milvus.settings.url } } });
    env = environmentOf(test, milvus.settings.url);
    worker = test.appliance.jobs.worker('ingest');
    await worker.start(new AbortController().signal);
  });
  afterAll(async () => {
    await worker?.stop();
    await test?.close();
    await milvus?.drop();
  });

  it(
    'buckets create takes an engine, and index move shows its plan, moves the bucket, and then has nothing to do',
    async () => {
      const { appliance, operator } = test;
      const service = (...args: string[]) => runCommand(args, env);
      const created = await service('buckets', 'create', 'archive', '--engine', 'milvus', '--json');
      expect(created.json()).toMatchObject({ name: 'archive', engine: 'milvus' });
      const documents = ['Heron', 'Stork'].map((name) => ({
        id: name,
        fileName: `${name}.txt`,
        text: `The ${name} wades.`,
      }));
      await ingestAll(appliance, operator, 'archive', documents);
      const move = (...args: string[]) => service('index', 'move', '--bucket', 'archive', ...args);
      const plan = await move('--engine', 'lance', '--dry-run');
      expect(plan).toMatchObject({ code: 0, stdout: 'would move 2 chunks from milvus to lance\n' });
      const moved = await move('--engine', 'lance');
      expect(moved).toMatchObject({ code: 0, stdout: '2 chunks of archive are on lance\n' });
      expect((await service('buckets', 'show', 'archive', '--json')).json()).toMatchObject({ engine: 'lance' });
      const again = await move('--engine', 'lance', '--json');
      expect(again.json()).toMatchObject({ job_id: null, engine: 'lance' });
      const found = await service('search', 'heron', '--bucket', 'archive', '--json');
      expect(found.json().results).toHaveLength(2);
      expect((await service('doctor')).stdout).toMatch(/milvus.*answered in/);
    },
    MS_MAX,
  );
});
