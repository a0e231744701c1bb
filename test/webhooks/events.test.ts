import { afterAll, beforeAll, expect, test } from 'vitest';
import { noteQuotas } from '../../src/webhooks/quota-events.ts';
import { EVENT_TYPES } from '../../src/webhooks/schema.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import { sendWebhooks } from './support.ts';

// Which changes are events: documents and their jobs, sources, runs of workflows, and quotas.

let api: TestApi;
let key: string;
let receiver: WebhookReceiver;

const settings = {
  webhooks: { networks: ['127.0.0.1'] },
  sources: { docs: { type: 'folder', root: import.meta.dirname } },
};

beforeAll(async () => {
  api = await openTestApi({ settings });
  key = await api.key({
    scopes: [
      ...(['webhooks:manage', 'documents:write', 'sources:manage', 'buckets:manage'] as const),
      ...(['workflows:manage', 'workflows:run', 'workflows:approve'] as const),
    ],
    authLevel: 9,
  });
  receiver = await WebhookReceiver.start();
  const { body } = await api.call('POST', '/v1/webhooks', { key, json: { name: 'all', url: receiver.url } });
  expect(body.events).toEqual(EVENT_TYPES);
  receiver.secret = body.secret;
});
afterAll(async () => {
  await api.close();
  await receiver.close();
});

const post = async (path: string, json: object) => (await api.call('POST', path, { key, json })).body;

/** Wait for events of an object to arrive, and return their types. */
function arrived(object: string, last: string): Promise<string[]> {
  return until(
    async () => {
      await sendWebhooks(api);
      const types = receiver.byObject().get(object);
      return types?.includes(last) ? types : null;
    },
    { what: `${last} of ${object}` },
  );
}

test('a document and its job tell each state, without names or texts', async () => {
  const { id, job_id: job } = await post('/v1/buckets/default/documents', {
    filename: 'secret-name.txt',
    text: 'The secret text.',
    privacy_level: 9,
  });
  expect(await arrived(id, 'document.ready')).toEqual(['document.created', 'document.ready']);
  expect(await arrived(job, 'job.ready')).toEqual(['job.queued', 'job.started', 'job.ready']);
  await api.call('DELETE', `/v1/buckets/default/documents/${id}`, { key });
  expect(await arrived(id, 'document.deleted')).toEqual(['document.created', 'document.ready', 'document.deleted']);
  expect(JSON.stringify(receiver.accepted)).not.toContain('secret');
  const created = receiver.accepted.find(({ type }) => type === 'document.created');
  expect(created?.data).toEqual({
    ...{ id, bucket_id: expect.stringMatching(/^bkt_/), collection_id: null, source_id: null, status: 'queued' },
  });
});

test('a document that cannot be read tells its failure with the category of its job', async () => {
  const json = { filename: 'broken.pdf', content_base64: Buffer.from('%PDF-1.4 broken').toString('base64') };
  const { id, job_id: job } = await post('/v1/buckets/default/documents', json);
  expect(await arrived(id, 'document.failed')).toEqual(['document.created', 'document.failed']);
  await arrived(job, 'job.failed');
  const failed = receiver.accepted.find(({ type, data }) => type === 'job.failed' && data.id === job);
  expect(failed?.data).toMatchObject({ document_id: id, error_category: expect.any(String) });
});

test('a source tells the beginning and the end of each synchronisation', async () => {
  const source = await post('/v1/memory/sources', {
    ...{ name: 'tests', connection: 'docs', bucket: 'default', config: { include: ['support.ts'] } },
  });
  await post(`/v1/memory/sources/${source.id}/sync`, {});
  expect(await arrived(source.id, 'source.synced')).toEqual(['source.syncing', 'source.synced']);
});

test('a run of a workflow tells that it waits for an approval, the decision, and its end', async () => {
  const definition = {
    blocks: [{ id: 'store', type: 'upload_document', with: { bucket: 'default', filename: 'x.txt', text: 'x' } }],
  };
  const { id } = await post('/v1/workflows', { name: 'with approval', definition });
  await post(`/v1/workflows/${id}/publish`, {});
  const run = await post(`/v1/workflows/${id}/run`, { mode: 'live' });
  expect(run).toMatchObject({ status: 'needs_approval' });
  await arrived(run.run_id, 'workflow_run.needs_approval');
  const decided = await post(`/v1/workflows/${id}/runs/${run.run_id}/approve`, { approvals: { store: true } });
  expect(await arrived(run.run_id, 'workflow_run.decided')).toEqual([
    'workflow_run.needs_approval',
    'workflow_run.decided',
  ]);
  expect(await arrived(decided.run_id, 'workflow_run.completed')).toEqual(['workflow_run.completed']);
  const event = receiver.accepted.find(({ type }) => type === 'workflow_run.decided');
  expect(event?.data).toMatchObject({ workflow_id: id, continued_by: decided.run_id, mode: 'live' });
});

test('a quota tells once that 80 % and 100 % of it are used', async () => {
  const { sql } = api.appliance;
  const now = new Date();
  const month = `${now.toISOString().slice(0, 7)}-01`;
  const { orgId, plan } = api.operator;
  const plans = { [plan]: { quotas: { embed: 100 }, rates: {} } } as never;
  const use = (used: number) => sql`
    INSERT INTO usage_counters (org_id, axis, month, used) VALUES (${orgId}, 'embed', ${month}::date, ${used})
    ON CONFLICT (org_id, axis, month) DO UPDATE SET used = excluded.used`;
  const seen = () =>
    receiver.accepted.filter(({ type }) => type === 'quota.threshold').map(({ data }) => data['threshold_percent']);
  for (const [used, expected] of [
    [79, []],
    [80, [80]],
    [99, [80]],
    [100, [80, 100]],
  ] as const) {
    await use(used);
    await noteQuotas(sql, plans, now);
    await noteQuotas(sql, plans, now);
    await sendWebhooks(api);
    expect(seen()).toEqual(expected);
  }
});
