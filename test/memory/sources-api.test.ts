import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKey } from '../../src/access/keys.ts';
import { createUser } from '../../src/access/users.ts';
import { queueDueSources } from '../../src/memory/sources.ts';
import { type Answer, openTestApi, type TestApi } from '../support/api.ts';
import { makeFolder } from '../support/memory.ts';
import { until } from '../support/until.ts';

let test: TestApi;
let key: string;
const root = makeFolder();

beforeAll(async () => {
  test = await openTestApi({
    settings: {
      sources: {
        docs: { type: 'folder', root: root.folder },
        shared: { type: 'folder', root: root.folder, organizations: ['*'] },
        others: { type: 'folder', root: root.folder, organizations: ['others'] },
      },
    },
  });
  key = await test.key({ scopes: ['sources:manage', 'search', 'documents:write', 'buckets:manage', 'jobs:write'] });
});
afterAll(async () => {
  await test.close();
  root.remove();
});

function write(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(root.folder, name)), { recursive: true });
  writeFileSync(path.join(root.folder, name), text);
}

const call = (method: string, to: string, json?: unknown, own = key): Promise<Answer> =>
  test.call(method, `/v1/memory/${to}`, { key: own, ...(json === undefined ? {} : { json }) });

async function synced(id: string, indexed: number) {
  return until(
    async () => {
      const { body } = await call('GET', `sources/${id}`);
      return body.sync_state !== 'syncing' && body.indexed_document_count === indexed && body;
    },
    { withinMs: 120_000, what: 'the end of a synchronisation' },
  );
}

it('lists the connections that the organization may use, with the schema of their configuration', async () => {
  const { status, body } = await call('GET', 'connections');
  expect(status).toBe(200);
  expect(body.map(({ name, type }: { name: string; type: string }) => [name, type])).toEqual([
    ['docs', 'folder'],
    ['shared', 'folder'],
  ]);
  expect(Object.keys(body[0].config_schema.properties)).toEqual(['path', 'include', 'exclude']);
  expect(JSON.stringify(body)).not.toContain(root.folder);
  const reader = await test.key({ scopes: ['search'] });
  expect((await call('GET', 'connections', undefined, reader)).status).toBe(403);
});

describe('a source', () => {
  it('is created, listed, synchronised, searched and deleted with its documents', async () => {
    write('whole/a.txt', 'Herons nest above the weir.');
    await test.call('POST', '/v1/buckets', { key, json: { name: 'whole' } });
    const made = await call('POST', 'sources', {
      ...{ name: 'whole', connection: 'docs', bucket: 'whole', schedule: '30 2 * * *', tags: ['place:weir'] },
      config: { path: 'whole' },
    });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      ...{ name: 'whole', type: 'folder', sync_state: 'idle', last_synced_at: null, indexed_document_count: 0 },
      ...{ error_category: null, error_message: null, next_sync_at: expect.stringContaining('T02:30:00.000Z') },
    });
    const { id } = made.body;
    const listed = await call('GET', 'sources');
    expect(Array.isArray(listed.body)).toBe(true);
    expect(listed.body.map((source: { id: string }) => source.id)).toContain(id);

    const queued = await call('POST', `sources/${id}/sync`);
    expect([queued.status, queued.body]).toEqual([
      202,
      { id, job_id: expect.stringMatching(/^job_/), status: 'queued' },
    ]);
    const after = await synced(id, 1);
    expect(after).toMatchObject({ sync_state: 'idle', last_synced_at: expect.any(String) });
    const jobs = await test.call('GET', `/v1/jobs?bucket_id=${made.body.bucket_id}`, { key });
    expect(jobs.body.map((job: { processing_type: string }) => job.processing_type)).toEqual([
      'source_connector',
      'source_connector',
    ]);

    const found = await call('POST', 'search', { query: 'herons', tags: ['place:weir'] });
    expect(found.body.results[0]).toMatchObject({
      text: expect.stringContaining('Herons'),
      source: { id, name: 'whole' },
    });
    const deleted = await call('DELETE', `sources/${id}`);
    expect(deleted.body).toEqual({ id, deleted: true, documents: 1 });
    expect((await call('GET', `sources/${id}`)).status).toBe(404);
    expect((await call('POST', 'search', { query: 'herons', bucket: 'whole' })).body.results).toEqual([]);
  });

  it('changes a document in place: searches find the old text until the new one is ready', async () => {
    write('changing/a.txt', 'The old text speaks of walnuts.');
    const { body } = await call('POST', 'sources', {
      ...{ name: 'changing', connection: 'docs', bucket: 'default', config: { path: 'changing' } },
    });
    await call('POST', `sources/${body.id}/sync`);
    await synced(body.id, 1);
    const before = (await call('POST', 'search', { query: 'walnuts', bucket: 'default' })).body.results[0];
    write('changing/a.txt', 'The new text speaks of chestnuts, and is longer.');
    await call('POST', `sources/${body.id}/sync`);
    await until(
      async () => {
        const { results } = (await call('POST', 'search', { query: 'walnuts chestnuts', bucket: 'default' })).body;
        expect(results).toHaveLength(1);
        expect(results[0].document_id).toBe(before.document_id);
        return results[0].text.includes('chestnuts');
      },
      { withinMs: 120_000, what: 'the new text' },
    );
  });

  it('that shows no entries keeps its documents, unless the request allows it to be empty', async () => {
    write('emptied/a.txt', 'A file that is deleted.');
    await test.call('POST', '/v1/buckets', { key, json: { name: 'emptied' } });
    const { body } = await call('POST', 'sources', {
      ...{ name: 'emptied', connection: 'docs', bucket: 'emptied', config: { path: 'emptied' } },
    });
    await call('POST', `sources/${body.id}/sync`);
    await synced(body.id, 1);
    rmSync(path.join(root.folder, 'emptied/a.txt'));
    await call('POST', `sources/${body.id}/sync`, {});
    const kept = await synced(body.id, 1);
    expect(kept).toMatchObject({
      sync_state: 'error',
      error_category: 'source_emptied',
      error_message: expect.stringContaining('had 1 before'),
    });
    const refused = await call('POST', `sources/${body.id}/sync`, { allow_empty: 'yes' });
    expect([refused.status, refused.body.detail]).toEqual([400, expect.stringMatching(/^allow_empty: /)]);
    await call('POST', `sources/${body.id}/sync`, { allow_empty: true });
    expect(await synced(body.id, 0)).toMatchObject({ sync_state: 'idle', error_message: null, counts: { removed: 1 } });
  });

  it('can be deleted so that its documents stay', async () => {
    write('staying/a.txt', 'A text that stays.');
    await test.call('POST', '/v1/buckets', { key, json: { name: 'staying' } });
    const { body } = await call('POST', 'sources', {
      ...{ name: 'staying', connection: 'docs', bucket: 'staying', config: { path: 'staying' } },
    });
    await call('POST', `sources/${body.id}/sync`);
    await synced(body.id, 1);
    const deleted = await call('DELETE', `sources/${body.id}?keep_documents=true`);
    expect(deleted.body).toMatchObject({ deleted: true, documents: 1 });
    const found = await call('POST', 'search', { query: 'text', bucket: 'staying' });
    expect(found.body.results[0]).toMatchObject({ source: null });
  });

  it('is synchronised when its schedule is due', async () => {
    write('due/a.txt', 'Due.');
    const { body } = await call('POST', 'sources', {
      ...{ name: 'due', connection: 'docs', bucket: 'default', schedule: '0 0 1 1 *', config: { path: 'due' } },
    });
    const { sql, memory } = test.appliance;
    expect(await queueDueSources(memory)).toBe(0);
    await sql`UPDATE sources SET next_sync_at = now() - interval '1 hour' WHERE id = ${body.id}`;
    expect(await queueDueSources(memory)).toBe(1);
    const after = await synced(body.id, 1);
    expect(Date.parse(after.next_sync_at)).toBeGreaterThan(Date.now());
  });

  it('has one unfinished job at a time', async () => {
    write('once/a.txt', 'Once.');
    const { body } = await call('POST', 'sources', {
      ...{ name: 'once', connection: 'docs', bucket: 'default', config: { path: 'once' } },
    });
    const replies = await Promise.all(Array.from({ length: 10 }, () => call('POST', `sources/${body.id}/sync`)));
    expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(202));
    await synced(body.id, 1);
    const rows = await test.appliance.sql`SELECT status FROM jobs WHERE kind = 'sync' AND source_entry_id = ${body.id}`;
    // One more if the first had begun before the last call.
    expect(rows.length).toBeLessThanOrEqual(new Set(replies.map((reply) => reply.body.job_id)).size + 1);
  });
});

describe('connections of organizations', () => {
  it('a connection of another organization does not exist, and its name is not shown', async () => {
    const foreigner = await test.key({ scopes: ['sources:manage', 'buckets:manage'], org: 'foreign' });
    await test.call('POST', '/v1/buckets', { key: foreigner, json: { name: 'default' } });
    const add = (connection: string) =>
      test.call('POST', '/v1/memory/sources', {
        key: foreigner,
        json: { name: 'taken', connection, bucket: 'default' },
      });
    const refused = await Promise.all([add('docs'), add('missing')]);
    expect(refused.map(({ status }) => status)).toEqual([400, 400]);
    expect(refused.map(({ body }) => body.detail)).toEqual(
      ['docs', 'missing'].map((name) => `connection: your organization has no "${name}"; it has shared`),
    );
    expect((await add('shared')).status).toBe(201);
  });

  it('a source whose organization has lost its connection is not read', async () => {
    const { body } = await call('POST', 'sources', {
      ...{ name: 'lost', connection: 'shared', bucket: 'default', config: { path: 'lost' } },
    });
    await test.appliance.sql`UPDATE sources SET connection = 'others' WHERE id = ${body.id}`;
    const { job_id } = (await call('POST', `sources/${body.id}/sync`)).body;
    const job = async () => (await test.call('GET', `/v1/jobs/${job_id}`, { key })).body;
    expect(await job()).toMatchObject({ file_name: 'lost' });
    await until(async () => (await job()).status === 'failed', { what: 'the end of the job' });
    expect((await job()).error_message).toContain('no connection "others" of type folder for this organization');
  });
});

describe('requests that are refused', () => {
  const good = { name: 'refused', connection: 'docs', bucket: 'default' };
  it.each([
    ['an unknown connection', { connection: 'elsewhere' }, 400, /your organization has no "elsewhere"/],
    ['a name of the prototype', { connection: 'constructor' }, 400, /your organization has no/],
    ['a path that leads out', { config: { path: '../other' } }, 400, /must not lead out/],
    ['an unknown field of config', { config: { root: '/' } }, 400, /config/],
    ['a cron line that never fires', { schedule: '0 0 30 2 *' }, 400, /never fires/],
    ['a cron line that is none', { schedule: 'daily' }, 400, /must be a cron expression/],
    ['a cron line with seconds', { schedule: '* * * * * *' }, 400, /must be a cron expression/],
    ['a tag without a value', { tags: ['team'] }, 400, /must be key:value/],
    ['a tag under a reserved key', { tags: ['source_kind:x'] }, 400, /reserved/],
    ['a tag that sets the scope', { tags: ['scope:hr'] }, 400, /cannot set the scope/],
    ['a missing bucket', { bucket: 'nowhere' }, 404, /bucket not found/],
    ['a missing user', { user_id: 'usr_missing' }, 404, /user not found/],
    ['a privacy level above the own', { privacy_level: 9 }, 403, /auth level/],
    ['braces for too many patterns', { config: { include: ['{a,b}'.repeat(7)] } }, 400, /at most 64 patterns/],
  ])('%s', async (_, change, status, message) => {
    const { status: given, body } = await call('POST', 'sources', { ...good, ...change });
    expect([given, body.detail]).toEqual([status, expect.stringMatching(message)]);
  });

  it('a second source of the same name is refused with 409', async () => {
    await call('POST', 'sources', { ...good, name: 'twice' });
    expect((await call('POST', 'sources', { ...good, name: 'twice' })).status).toBe(409);
  });
});

describe('the owner of a source', () => {
  it('and administrators see it; others see only sources of the organization', async () => {
    const { sql, keyRing } = test.appliance;
    const keyOf = async (email: string) => {
      const user = await createUser(sql, test.operator, { email });
      const created = await createKey(sql, keyRing, test.operator, {
        name: email,
        userId: user.id,
        scopes: ['search'],
      });
      return { id: user.id, key: created.key.reveal() };
    };
    const ann = await keyOf('ann@example.com');
    const ben = await keyOf('ben@example.com');
    const good = { connection: 'docs', bucket: 'default' };
    await call('POST', 'sources', { ...good, name: 'of-ann', user_id: ann.id });
    await call('POST', 'sources', { ...good, name: 'of-all', user_id: null });
    const namesOf = async (own: string, query = '') =>
      (await call('GET', `sources${query}`, undefined, own)).body
        .map((source: { name: string }) => source.name)
        .filter((name: string) => name.startsWith('of-'));
    expect(await namesOf(ann.key)).toEqual(['of-all', 'of-ann']);
    expect(await namesOf(ben.key)).toEqual(['of-all']);
    expect(await namesOf(key)).toEqual(['of-all', 'of-ann']);
    expect(await namesOf(ann.key, `?user_id=${ann.id}`)).toEqual(['of-all', 'of-ann']);
    expect(await namesOf(ben.key, `?user_id=${ann.id}`)).toEqual(['of-all']);
    expect(await namesOf(key, `?user_id=${ben.id}`)).toEqual(['of-all']);
    expect((await call('GET', 'sources/of-ann', undefined, ben.key)).status).toBe(404);
    const foreign = await test.key({ org: 'other', scopes: ['sources:manage'] });
    for (const [method, to] of [
      ['GET', 'sources/of-ann'],
      ['POST', 'sources/of-ann/sync'],
      ['DELETE', 'sources/of-ann'],
    ] as const) {
      expect((await call(method, to, undefined, foreign)).status).toBe(404);
    }
  });
});

describe('what a caller may not see', () => {
  it('a source above the level of the caller is hidden with its synchronisations and its documents', async () => {
    write('high/a.txt', 'Minutes of the board.');
    await test.call('POST', '/v1/buckets', { key, json: { name: 'high' } });
    const source = { name: 'high', connection: 'docs', bucket: 'high', privacy_level: 5, config: { path: 'high' } };
    const { id } = (await call('POST', 'sources', source)).body;
    const { job_id: jobId } = (await call('POST', `sources/${id}/sync`)).body;
    await synced(id, 1);
    const low = await test.key({ scopes: ['search', 'sources:manage', 'jobs:write'], authLevel: 4 });
    const statusOf = async (to: string, own: string) => (await test.call('GET', to, { key: own })).status;
    expect(await statusOf(`/v1/memory/sources/${id}`, key)).toBe(200);
    expect(await statusOf(`/v1/jobs/${jobId}`, key)).toBe(200);
    expect(await statusOf(`/v1/memory/sources/${id}`, low)).toBe(404);
    expect(await statusOf(`/v1/jobs/${jobId}`, low)).toBe(404);
    const jobs = await test.call('GET', '/v1/jobs?limit=200', { key: low });
    const entries = jobs.body.map((job: { source_entry_id: string | null }) => job.source_entry_id);
    expect(entries).not.toContain(id);
    const found = await call('POST', 'search', { query: 'minutes', bucket: 'high' }, low);
    expect(found.body.results).toEqual([]);
    const [bucketId] = found.body.bucket_ids;
    expect((await call('POST', 'search', { query: 'minutes' })).body.bucket_ids).toContain(bucketId);
    expect((await call('POST', 'search', { query: 'minutes' }, low)).body.bucket_ids).not.toContain(bucketId);
  });

  it('documents that the caller may not see stay when their source is deleted, and are not counted', async () => {
    write('raised/a.txt', 'A page for everybody.');
    write('raised/b.txt', 'A page for few.');
    const source = { name: 'raised', connection: 'docs', bucket: 'default', config: { path: 'raised' } };
    const { id } = (await call('POST', 'sources', source)).body;
    await call('POST', `sources/${id}/sync`);
    await synced(id, 2);
    const { sql } = test.appliance;
    await sql`UPDATE documents SET privacy_level = 9 WHERE source_path = 'raised/b.txt'`;
    expect((await call('GET', `sources/${id}`)).body.indexed_document_count).toBe(1);
    expect((await call('DELETE', `sources/${id}`)).body).toEqual({ id, deleted: true, documents: 1 });
    const left = await sql`SELECT source_id FROM documents WHERE source_path = 'raised/b.txt' AND status = 'ready'`;
    expect(left).toMatchObject([{ source_id: null }]);
  });

  it('a source that is being deleted gets no further job', async () => {
    write('leaving/a.txt', 'A page that goes with its source.');
    const source = { name: 'leaving', connection: 'docs', bucket: 'default', config: { path: 'leaving' } };
    const { id } = (await call('POST', 'sources', source)).body;
    await call('POST', `sources/${id}/sync`);
    await synced(id, 1);
    const deleted = await test.appliance.sql.begin(async (tx) => {
      await tx`SELECT 1 FROM documents WHERE source_id = ${id} FOR UPDATE`;
      const deletion = call('DELETE', `sources/${id}`);
      const isPaused = async () => (await call('GET', `sources/${id}`)).body.paused_at !== null;
      await until(isPaused, { withinMs: 10_000, what: 'the deletion to begin' });
      expect((await call('POST', `sources/${id}/sync`)).status).toBe(409);
      return { deletion };
    });
    expect((await deleted.deletion).body).toEqual({ id, deleted: true, documents: 1 });
  });

  it('the synchronisation of a source of another user is hidden', async () => {
    const { sql, keyRing } = test.appliance;
    const owner = await createUser(sql, test.operator, { email: 'owner@example.com' });
    const source = { name: 'private', connection: 'docs', bucket: 'default', config: { path: 'whole' } };
    const { id } = (await call('POST', 'sources', { ...source, user_id: owner.id })).body;
    const { job_id: jobId } = (await call('POST', `sources/${id}/sync`)).body;
    const own = await createKey(sql, keyRing, test.operator, { name: 'o', userId: owner.id, scopes: ['search'] });
    const other = await test.key({ scopes: ['search'] });
    const statusOf = async (by: string) => (await test.call('GET', `/v1/jobs/${jobId}`, { key: by })).status;
    expect([await statusOf(own.key.reveal()), await statusOf(other)]).toEqual([200, 404]);
  });
});
