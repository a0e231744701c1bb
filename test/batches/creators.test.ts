import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { batchOf, storeFile } from '../support/stored-file.ts';
import { until } from '../support/until.ts';

// A batch runs with the rights that its creator has when it starts.

let test: TestApi;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
});
afterAll(() => test.close());

/** Ways in which a key with an id of an organization becomes invalid, or stays valid. */
const CHANGES: Readonly<Record<string, (key: string, org: string) => Promise<unknown>>> = {
  nothing: async () => null,
  revocation: (id) => test.appliance.sql`UPDATE api_keys SET revoked_at = now() WHERE id = ${id}`,
  expiry: (id) => test.appliance.sql`UPDATE api_keys SET expires_at = now() WHERE id = ${id}`,
  removal: (id) => test.appliance.sql`DELETE FROM api_keys WHERE id = ${id}`,
  suspension: (_, org) => test.appliance.sql`UPDATE organizations SET suspended_at = now() WHERE name = ${org}`,
};

it('a batch whose key is no longer valid when it starts fails without any answer, and says why', async () => {
  const { sql } = test.appliance;
  const batches = new Map<string, string>();
  for (const [name, change] of Object.entries(CHANGES)) {
    const key = await test.key({ scopes: ['embed'], org: name });
    const file = await storeFile(test, key);
    batches.set(name, (await test.call('POST', '/v1/batches', { key, json: batchOf(file) })).body.id);
    await change(key.split('_')[1] as string, name);
  }
  // Of a batch that was in progress, another attempt is refused, too.
  await sql`UPDATE batches SET in_progress_at = now() WHERE id = ${batches.get('revocation') as string}`;
  const worker = test.appliance.jobs.worker('embed');
  await worker.start(new AbortController().signal);
  const open = async () => (await sql`SELECT 1 FROM batches WHERE ended_at IS NULL`).length;
  await until(async () => (await open()) === 0, { withinMs: 60_000, what: 'the end of the batches' });
  await worker.stop();
  for (const [name, id] of batches) {
    const [row] = await sql`SELECT status, errors, output_file_id, error_file_id FROM batches WHERE id = ${id}`;
    if (name === 'nothing') {
      expect(row).toMatchObject({ status: 'completed', output_file_id: expect.any(String) });
      continue;
    }
    const errors = [{ code: 'creator_refused', message: expect.stringContaining('create the batch again') }];
    expect([name, row]).toMatchObject([name, { status: 'failed', errors, output_file_id: null, error_file_id: null }]);
  }
});
