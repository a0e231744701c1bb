import { afterAll, beforeAll, expect, it } from 'vitest';
import { SCOPES } from '../../src/access/caller.ts';
import { ROW_LIMITS } from '../../src/access/row-limits-store.ts';
import { VERSIONS_MAX } from '../../src/workflows/workflows.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { messengerConfig } from '../support/channels.ts';
import { DEFINITION } from '../support/route-requests.ts';
import { batchOf } from '../support/stored-file.ts';

let test: TestApi;
let key: string;
let orgId: string;
let bucketId: string;

beforeAll(async () => {
  const sources = { docs: { type: 'folder', root: import.meta.dirname, organizations: ['*'] } };
  test = await openTestApi({ worker: false, settings: { sources } });
  const scopes = SCOPES.filter((scope) => scope !== 'platform_admin');
  await test.key({ org: 'roomy' });
  key = await test.key({ org: 'crowded', scopes, authLevel: 9 });
  orgId = (await test.call('GET', '/v1/me', { key })).body.org.id;
  bucketId = (await test.call('GET', '/v1/buckets/default', { key })).body.id;
  await test.appliance.sql`
    INSERT INTO files (id, org_id, purpose, file_name, size_bytes, object_key)
    SELECT 'file_' || name, id, 'batch', 'a.jsonl', 1, 'files/' || name FROM organizations
    WHERE name IN ('crowded', 'roomy')`;
});
afterAll(() => test.close());

type Table = keyof typeof ROW_LIMITS;

/** Insert many rows at once, as earlier requests would have. */
function fill(table: Table, rows: number) {
  const { sql } = test.appliance;
  const numbers = sql`generate_series(1, ${rows}) n`;
  const statements = {
    buckets: sql`INSERT INTO buckets (id, org_id, name, policy) SELECT 'bkt_f' || n, ${orgId}, 'f' || n, '{}' FROM ${numbers}`,
    collections: sql`INSERT INTO collections (id, org_id, bucket_id, name) SELECT 'col_f' || n, ${orgId}, ${bucketId}, 'f' || n FROM ${numbers}`,
    users: sql`INSERT INTO users (id, org_id, email, role, auth_level) SELECT 'usr_f' || n, ${orgId}, n || '@example.com', 'member', 1 FROM ${numbers}`,
    groups: sql`INSERT INTO groups (org_id, name) SELECT ${orgId}, 'f' || n FROM ${numbers}`,
    api_keys: sql`INSERT INTO api_keys (id, org_id, name, hash, scopes, auth_level) SELECT 'f' || n, ${orgId}, 'f', '', '{}', 1 FROM ${numbers}`,
    sources: sql`
      INSERT INTO sources (id, org_id, bucket_id, name, type, connection, config, tags, versions, privacy_level, created_by)
      SELECT 'src_f' || n, ${orgId}, ${bucketId}, 'f' || n, 'folder', 'docs', '{}', '{}', 'keep', 1, 'test' FROM ${numbers}`,
    channel_configs: sql`INSERT INTO channel_configs (id, org_id, name, provider, sealed_config) SELECT 'chn_f' || n, ${orgId}, 'f', 'other', '' FROM ${numbers}`,
    webhook_endpoints: sql`INSERT INTO webhook_endpoints (id, org_id, name, url, events, sealed_secret) SELECT 'whk_f' || n, ${orgId}, 'f' || n, '', '{}', '' FROM ${numbers}`,
    assistants: sql`INSERT INTO assistants (id, org_id, name, definition) SELECT 'asst_f' || n, ${orgId}, 'f' || n, '{"buckets":[]}' FROM ${numbers}`,
    batches: sql`
      INSERT INTO batches (id, org_id, job_id, actor, endpoint, window_text, input_file_id, input_key, status, expires_at)
      SELECT 'batch_f' || n, ${orgId}, 'job_f' || n, 'test', '', '', 'file_crowded', 'f', 'validating', now() FROM ${numbers}`,
    workflows: sql`INSERT INTO workflows (id, org_id, name, latest_version, created_by) SELECT 'wfl_f' || n, ${orgId}, 'f' || n, 0, 'test' FROM ${numbers}`,
  };
  return statements[table];
}

const CREATED: Readonly<Record<Table, (nth: number) => readonly [path: string, json: Record<string, unknown>]>> = {
  buckets: (nth) => ['/v1/buckets', { name: `last-${nth}` }],
  collections: (nth) => ['/v1/buckets/default/collections', { name: `last-${nth}` }],
  users: (nth) => ['/v1/users', { email: `last-${nth}@example.com` }],
  groups: (nth) => ['/v1/groups', { name: `last-${nth}` }],
  api_keys: () => ['/v1/keys', { name: 'last', scopes: ['search'] }],
  sources: (nth) => ['/v1/memory/sources', { name: `last-${nth}`, connection: 'docs', bucket: 'default' }],
  channel_configs: (nth) => [
    '/v1/channels/configs',
    { name: 'last', provider: 'messenger', config: messengerConfig({ bot_id: `last-${nth}` }) },
  ],
  webhook_endpoints: (nth) => ['/v1/webhooks', { name: `last-${nth}`, url: 'https://example.com/hooks' }],
  assistants: (nth) => ['/v1/assistants', { name: `last-${nth}`, buckets: ['default'] }],
  batches: (nth) => ['/v1/batches', batchOf(nth === 99 ? 'file_roomy' : 'file_crowded')],
  workflows: (nth) => ['/v1/workflows', { name: `last-${nth}`, definition: DEFINITION }],
};

it.each(Object.keys(ROW_LIMITS) as Table[])(
  'an organization has at most the allowed number of %s, also by concurrent requests',
  async (table) => {
    const { rowsMax, remedy } = ROW_LIMITS[table];
    const count = async () => {
      const [row] = await test.appliance.sql`
        SELECT count(*)::int AS rows FROM ${test.appliance.sql(table)} WHERE org_id = ${orgId}`;
      return row?.['rows'] as number;
    };
    await fill(table, rowsMax - 3 - (await count()));
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, nth) => {
        const [path, json] = CREATED[table](nth);
        return test.call('POST', path, { key, json });
      }),
    );
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(3);
    const refused = answers.filter(({ status }) => status >= 300);
    for (const answer of refused) {
      expect(answer.status).toBe(409);
      expect(JSON.stringify(answer.body)).toContain(remedy);
    }
    expect(await count()).toBe(rowsMax);
    const other = await test.key({ org: 'roomy', scopes: [...SCOPES], authLevel: 9 });
    const [path, json] = CREATED[table](99);
    expect((await test.call('POST', path, { key: other, json })).status).toBeLessThan(300);
  },
);

it('a workflow has at most the allowed number of versions, also by concurrent requests', async () => {
  const roomy = await test.key({ org: 'versions', scopes: [...SCOPES], authLevel: 9 });
  await test.call('POST', '/v1/workflows', { key: roomy, json: { name: 'w', definition: DEFINITION } });
  const { sql } = test.appliance;
  const { id } = (await test.call('GET', '/v1/workflows/w', { key: roomy })).body;
  await sql`
    INSERT INTO workflow_versions (workflow_id, version, definition, created_by)
    SELECT workflow_id, n, definition, created_by FROM workflow_versions, generate_series(2, ${VERSIONS_MAX - 2}) n
    WHERE workflow_id = ${id}`;
  await sql`UPDATE workflows SET latest_version = ${VERSIONS_MAX - 2} WHERE id = ${id}`;
  const add = () => test.call('PUT', '/v1/workflows/w', { key: roomy, json: { definition: DEFINITION } });
  const answers = await Promise.all(Array.from({ length: 6 }, add));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 409, 409, 409, 409]);
  expect(answers.find(({ status }) => status === 409)?.body.detail).toContain('500 versions');
});

it('a revoked key makes room for another, and a key can be rotated when there is none', async () => {
  const [{ id }] = await test.appliance.sql<[{ id: string }]>`
    SELECT id FROM api_keys WHERE org_id = ${orgId} AND id LIKE 'f%' LIMIT 1`;
  const create = () => test.call('POST', '/v1/keys', { key, json: { name: 'next', scopes: ['search'] } });
  expect((await create()).status).toBe(409);
  expect((await test.call('POST', `/v1/keys/${id}/rotate`, { key, json: {} })).status).toBe(201);
  expect((await create()).status).toBe(409);
  const [other] = await test.appliance.sql<[{ id: string }]>`
    SELECT id FROM api_keys WHERE org_id = ${orgId} AND id LIKE 'f%' AND revoked_at IS NULL LIMIT 1`;
  expect((await test.call('DELETE', `/v1/keys/${other.id}`, { key })).status).toBeLessThan(300);
  expect((await create()).status).toBe(201);
});
