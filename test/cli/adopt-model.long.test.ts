import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { until } from '../support/until.ts';
import { runCommand } from './service.ts';

let api: TestApi;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  api = await openTestApi();
  env = { SERVICE_DATA_DIR: api.dataDir, DATABASE_URL: api.databaseUrl };
  const text = 'Annual leave must be requested two weeks in advance.';
  await ingestAll(api.appliance, api.operator, 'default', [{ id: 'leave', fileName: 'leave.txt', text }]);
});
afterAll(() => api.close());

const adopt = (...args: string[]) => runCommand(['models', 'adopt', ...args], env);

describe('models adopt', () => {
  it('shows the chunks of each bucket, and with --dry-run changes nothing', async () => {
    const { code, stderr } = await adopt('local/semantic-1', '--dry-run');
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('bucket default: local/semantic-1 embeds 1 of 1 chunks'),
    ]);
    expect(await api.appliance.embedding.routing.of(api.operator.orgId)).toMatchObject({
      primary: 'service-embed-1-small',
    });
  });

  it('refuses an unknown model, and asks for --yes without a terminal', async () => {
    const unknown = await adopt('local/semantik-1', '--yes');
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('did you mean "local/semantic-1"?')]);
    const { code, stderr } = await adopt('local/semantic-1');
    expect(code).toBe(2);
    expect(stderr).toContain('--yes');
  });

  it('makes the model the primary one, and queues a job that embeds each bucket', async () => {
    const { code, stdout } = await adopt('local/semantic-1', '--yes', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ model: 'local/semantic-1', dry_run: false, jobs: [expect.any(String)] });
    const key = await api.key();
    await until(
      async () => (await api.call('GET', '/v1/buckets/default', { key })).body.embedding.model === 'local/semantic-1',
      { withinMs: 120_000, everyMs: 100, what: 'the new vectors' },
    );
    const json = { query: 'how early do I have to ask for vacation?' };
    const { body } = await api.call('POST', '/v2/buckets/default/search', { key, json });
    expect(body).toMatchObject({ model: 'local/semantic-1', results: [{ citation: { file_name: 'leave.txt' } }] });
    const again = await adopt('local/semantic-1', '--dry-run');
    expect(again.stderr).toContain('no bucket has chunks to embed with local/semantic-1');
  });

  it('keeps a fallback that can be compared with the model, drops another one, and says so', async () => {
    const org = 'routed';
    const key = await api.key({ org, scopes: ['routing:manage'] });
    const route = async (routing: object) => {
      expect((await api.call('PUT', '/v1/routing', { key, json: { ...routing, mode: 'fallback' } })).status).toBe(200);
    };
    const routing = async () => (await api.call('GET', '/v1/routing', { key })).body;
    // The alias is served by the lexical model.
    await route({ primary: 'local/semantic-1', fallback: 'service-embed-1-small' });
    const shown = await adopt('local/lexical-1', '--org', org, '--dry-run');
    expect(shown.stderr).toContain('service-embed-1-small stays the fallback');
    expect(await routing()).toMatchObject({ primary: 'local/semantic-1' });
    const kept = await adopt('local/lexical-1', '--org', org, '--yes');
    expect(kept.stderr).toContain('service-embed-1-small stays the fallback');
    const stays = { primary: 'local/lexical-1', fallback: 'service-embed-1-small', mode: 'fallback' };
    expect(await routing()).toMatchObject(stays);
    const dropped = await adopt('local/semantic-1', '--org', org, '--yes');
    expect(dropped.stderr).toContain(
      'removed the fallback service-embed-1-small, because its vectors cannot be compared',
    );
    expect(await routing()).toMatchObject({ primary: 'local/semantic-1', fallback: null, mode: 'single' });
    await route({ primary: 'local/semantic-1', fallback: 'local/lexical-1' });
    const replaced = await adopt('local/lexical-1', '--org', org, '--yes');
    expect(replaced.stderr).toContain('there is no fallback now, since local/lexical-1 was the fallback');
    expect(await routing()).toMatchObject({ primary: 'local/lexical-1', fallback: null, mode: 'single' });
  });
});
