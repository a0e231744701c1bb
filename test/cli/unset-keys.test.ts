import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { runCommand } from './service.ts';

// A shell beside a server rarely has the keys of the vendors that the server uses.

vi.setConfig({ testTimeout: 120_000 });

let installation: TestAppliance;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  installation = await openTestAppliance();
  const provider = {
    ...{ protocol: 'openai', base_url: 'https://api.example.com/v1', api_key: `\${VENDOR_KEY}` },
    models: [{ name: 'embedder', dimensions: 8, max_tokens: 512 }],
  };
  writeFileSync(path.join(installation.dataDir, 'service.yaml'), JSON.stringify({ providers: { vendor: provider } }));
  env = { SERVICE_DATA_DIR: installation.dataDir, DATABASE_URL: installation.databaseUrl };
});
afterAll(() => installation.close());

test.each([
  ['documents', 'list'],
  ['jobs', 'list'],
  ['keys', 'list'],
  ['search', 'harbour'],
  ['models', 'list'],
])('service %s %s works without the key of a vendor, and says what is left out', async (...args) => {
  const { code, stderr } = await runCommand(args, env);
  expect([code, stderr]).toEqual([0, expect.stringContaining('the provider vendor is not used here')]);
  expect(stderr).toContain('VENDOR_KEY is not set');
  expect((await runCommand(args, { ...env, VENDOR_KEY: 'x' })).stderr).not.toContain('left out');
});

test.each([['serve', '--port', '0'], ['config', 'check'], ['worker', 'ingest'], ['doctor']])(
  'service %s %s needs every key',
  async (...args) => {
    expect(await runCommand(args, env)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`\${VENDOR_KEY} is not set in the environment`),
    });
  },
);
