import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SCOPES } from '../../src/access/caller.ts';
import { deleteOldDeliveries } from '../../src/channels/delivery-store.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { createConfig, deliver, PATIENT } from '../support/channels.ts';

let test: TestApi;
let key: string;
let config: string;
beforeAll(async () => {
  test = await openTestApi({ worker: false, settings: PATIENT });
  key = await test.key({ scopes: [...SCOPES], authLevel: 10 });
  config = await createConfig(test, key);
});
afterAll(() => test.close());

const get = (path: string, by = key) => test.call('GET', path, { key: by });

it('deliveries are listed with their replies while these are kept, page by page, in their organization only', async () => {
  const { sql } = test.appliance;
  const reply = JSON.stringify({ version: '2.0', template: { outputs: [{ simpleText: { text: 'Hello' } }] } });
  for (let i = 0; i < 4; i++) {
    const digest = createHash('sha256').update(randomBytes(8)).digest();
    const isAnswered = i !== 0;
    await sql`
      INSERT INTO channel_deliveries (config_id, digest, org_id, received_at, outcome, answered_at)
      SELECT id, ${digest}, org_id, now() - ${4 - i} * interval '1 min', ${isAnswered ? 'answered' : null},
             CASE WHEN ${isAnswered} THEN now() - ${4 - i} * interval '1 min' + interval '250 ms' END
      FROM channel_configs WHERE id = ${config}`;
    await sql`
      INSERT INTO channel_replies (config_id, digest, claimed_until, reply, expires_at)
      VALUES (${config}, ${digest}, now() - interval '1 s', ${isAnswered ? reply : null},
              now() + ${i === 1 ? -1 : i + 1} * interval '1 min')`;
  }
  const first = await get('/v1/channels/deliveries?limit=2');
  const answered = { status: 'answered', outcome: 'answered', duration_ms: 250, texts: ['Hello'] };
  expect(first.body).toMatchObject({ has_more: true, data: [answered, answered] });
  const second = await get(`/v1/channels/deliveries?limit=2&cursor=${first.body.next_cursor}`);
  const abandoned = { status: 'abandoned', outcome: null, duration_ms: null, texts: [] };
  expect(second.body).toMatchObject({ has_more: false, data: [{ ...answered, texts: [] }, abandoned] });
  expect((await get(`/v1/channels/deliveries?config=${config}`)).body.data).toHaveLength(4);
  const foreign = await test.key({ org: 'other', scopes: ['channels:manage'] });
  for (const query of ['', `?config=${config}`, `?cursor=${first.body.next_cursor}`]) {
    expect((await get(`/v1/channels/deliveries${query}`, foreign)).body.data).toEqual([]);
  }
  expect((await get('/v1/channels/deliveries', await test.key())).status).toBe(403);
});

it('deliveries are removed after the time for which they are listed, but not while their reply is kept', async () => {
  const { sql } = test.appliance;
  const listed = async () => (await get('/v1/channels/deliveries')).body.data.length;
  const before = await listed();
  expect(await deleteOldDeliveries(sql, 10 * 60_000, 100)).toBe(0);
  expect(await deleteOldDeliveries(sql, 0, 100)).toBe(1);
  await sql`UPDATE channel_replies SET expires_at = now() - interval '1 second'`;
  expect(await deleteOldDeliveries(sql, 0, 1)).toBe(1);
  expect(await listed()).toBe(before - 2);
});

it('a delivery that is answered is listed with its outcome, without what the person wrote', async () => {
  const delivery = { bot_id: 'bot-1', user_id: 'user-of-the-messenger', utterance: 'a question about the harbour' };
  expect((await deliver(test, delivery)).status).toBe(200);
  const { body } = await get('/v1/channels/deliveries?limit=1');
  expect(body.data).toMatchObject([{ status: 'answered', outcome: 'nothing_found', duration_ms: expect.any(Number) }]);
  const [row] = await test.appliance
    .sql`SELECT to_jsonb(d)::text AS row FROM channel_deliveries d WHERE outcome = 'nothing_found'`;
  expect(row?.['row']).not.toMatch(/harbour|user-of/);
});

it('notifications are listed page by page, newest first, in their organization only', async () => {
  const template_code = 'T';
  for (let i = 0; i < 3; i++) {
    const json = { channel_config_id: config, phone: `+8210000000${i}`, template_code };
    await test.call('POST', '/v1/channels/messenger/send', { key, json });
  }
  const first = await get('/v1/channels/outbox?limit=2');
  expect(first.body).toMatchObject({ has_more: true, data: [{ phone: '+82100000002', via: 'outbox' }, {}] });
  const second = await get(`/v1/channels/outbox?limit=2&cursor=${first.body.next_cursor}`);
  expect(second.body).toMatchObject({ has_more: false, data: [{ phone: '+82100000000' }] });
  const foreign = await test.key({ org: 'other', scopes: ['channels:manage'] });
  expect((await get(`/v1/channels/outbox?config=${config}`, foreign)).body.data).toEqual([]);
  expect((await get('/v1/channels/outbox', await test.key())).status).toBe(403);
});

it('the matrix of projections has both directions between the reference and each model in use', async () => {
  expect((await get('/v1/projections/matrix')).body).toMatchObject({ reference_model: null, models: [], cells: [] });
  const { sql } = test.appliance;
  const both = (forward: number, backward: number) => ({ forward, backward });
  const scores = (forward: number, backward: number) => ({
    scores: [
      { dimensions: 1024, recallAt1: both(forward, backward), recallAt10: both(1, 1), overlapAt10: both(0.5, 0.25) },
    ],
  });
  await sql`
    INSERT INTO projection_spaces (id, dimensions, reference_model, reference_revision, pairs, object_key, sha256)
    VALUES ('canon-v1', 4096, 'x/reference', '1', 10, 'spaces/x', ${Buffer.alloc(32)})`;
  const models = [['x/reference', scores(1, 1)] as const, ['x/a', scores(0.9, 0.8)] as const, ['x/b', null] as const];
  for (const [i, [model, figures]] of models.entries()) {
    await sql`
      INSERT INTO projection_maps (version, space_id, model, model_revision, method, native_dimension, rank, pairs, score,
        scores, grade, status, object_key, sha256, created_by)
      VALUES (${i + 1}, 'canon-v1', ${model}, '1', 'procrustes', 8, 8, 10, 0.8, ${JSON.stringify(figures)}::text::jsonb,
        'good', 'active', ${`maps/${i}`}, ${Buffer.alloc(32)}, 'operator:test')`;
  }
  const { body } = await get('/v1/projections/matrix');
  expect(body.models.map(({ model }: { model: string }) => model)).toEqual(['x/reference', 'x/a', 'x/b']);
  expect(body.cells).toHaveLength(6);
  const cell = (query: string, documents: string) =>
    body.cells.find(
      (each: { query_model: string; document_model: string }) =>
        each.query_model === query && each.document_model === documents,
    );
  expect(cell('x/a', 'x/reference')).toMatchObject({ recall_at_1: 0.9, overlap_at_10: 0.5 });
  expect(cell('x/reference', 'x/a')).toMatchObject({ recall_at_1: 0.8, overlap_at_10: 0.25 });
  expect(cell('x/a', 'x/b')).toMatchObject({ recall_at_1: null });
  expect(cell('x/b', 'x/reference')).toMatchObject({ recall_at_1: null });
});
