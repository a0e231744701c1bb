import { randomBytes } from 'node:crypto';
import { ServerResponse } from 'node:http';
import { queryObjects } from 'node:v8';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiRoutes } from '../../server/api-service.ts';
import type { Route } from '../../server/route.ts';
import { SCOPES, type Scope } from '../../src/access/caller.ts';
import { createKey } from '../../src/access/keys.ts';
import { SCOPES_BY_ROLE } from '../../src/access/roles.ts';
import { createToken } from '../../src/access/tokens.ts';
import { createUser } from '../../src/access/users.ts';
import { type Answer, openTestApi, type TestApi } from '../support/api.ts';
import { createConfig } from '../support/channels.ts';
import { type FakeChat, startFakeChat } from '../support/fake-chat.ts';
import { idsOf, send } from '../support/route-matrix.ts';
import { DEFINITION, type MatrixIds, MISSING, REQUESTS, TOPIC } from '../support/route-requests.ts';
import { batchOf, storeFile } from '../support/stored-file.ts';
import { until } from '../support/until.ts';

// Matrix of every route and every id in its requests against every kind of caller that must not get further. It is made
// from the route table: a route without a request in test/support/route-matrix.ts fails.
const OF_ORGANIZATION: Scope[] = SCOPES.filter((scope) => scope !== 'platform_admin');
/** Requests of each route of which none may stay in memory. */
const REPEATED = 5;
const NAMES = ['above-level', 'of-sales', 'of-board', 'open'] as const;

let test: TestApi;
let chat: FakeChat;
let routes: Route[];
let owner: string;
let foreigner: string;
let own: MatrixIds;
let theirs: MatrixIds;
const ids = {} as Record<(typeof NAMES)[number], { document: string; job: string }>;

beforeAll(async () => {
  chat = await startFakeChat('openai');
  test = await openTestApi({ settings: { answers: { protocol: 'openai', base_url: chat.url, model: 'chat-1' } } });
  routes = apiRoutes(test.appliance, () => {});
  owner = await test.key({ scopes: [...SCOPES], authLevel: 10 });
  foreigner = await test.key({ scopes: OF_ORGANIZATION, authLevel: 10, org: 'other' });
  own = await seed(owner);
  theirs = await seed(foreigner);
  await test.call('POST', '/v1/groups', { key: owner, json: { name: 'board' } });
  for (const name of NAMES) {
    const more = {
      'above-level': { privacy_level: 9 },
      'of-sales': { scope: 'sales' },
      'of-board': { access: { groups: ['board'] } },
      open: {},
    }[name];
    const { scope, ...fields } = more as { scope?: string };
    const metadata = { topic: TOPIC, ...(scope ? { scope } : {}) };
    const json = { filename: `${name}.txt`, text: `The ${TOPIC} and ${name}.`, metadata, ...fields };
    const at = { collection_id: own.collection };
    const { body } = await test.call('POST', '/v1/buckets/default/documents', { key: owner, json: { ...json, ...at } });
    ids[name] = { document: body.id, job: body.job_id };
  }
  const unready = async () => (await test.appliance.sql`SELECT 1 FROM documents WHERE status <> 'ready'`).length;
  await until(async () => (await unready()) === 0, { what: 'ingest' });
});
afterAll(async () => {
  await test.close();
  await chat.close();
});

/** Create one of everything in the organization of a key. */
async function seed(key: string): Promise<MatrixIds> {
  const post = async (path: string, json: object) => (await test.call('POST', path, { key, json })).body;
  const bucket =
    (await test.call('GET', '/v1/buckets/default', { key })).body.id ??
    (await post('/v1/buckets', { name: 'default' })).id;
  const collection = (await post(`/v1/buckets/${bucket}/collections`, { name: 'shelf' })).id;
  const upload = await post(`/v1/buckets/${bucket}/documents`, { filename: 'first.txt', text: `first ${bucket}` });
  const bulkJob = (await post('/v1/embed/jobs', { texts: ['one'] })).id;
  const file = await storeFile(test, key);
  const batch = (await post('/v1/batches', batchOf(file))).id;
  const files = { file_ids: [await storeFile(test, key, 'assistants')] };
  const fileBatch = (await post(`/v1/vector_stores/${bucket}/file_batches`, files)).id;
  const config = await createConfig(test, key);
  const workflow = (await post('/v1/workflows', { name: 'answers', definition: DEFINITION })).id;
  await post(`/v1/workflows/${workflow}/publish`, {});
  const run = (await post(`/v1/workflows/${workflow}/run`, { inputs: {}, mode: 'simulate' })).run_id;
  const trigger = (await post(`/v1/workflows/${workflow}/triggers`, { webhook: true })).id;
  const assistant = (await post('/v1/assistants', { name: 'helper', buckets: [bucket] })).id;
  const hook = { name: 'ours', url: 'https://example.com/hooks' };
  const webhook = (await post('/v1/webhooks', hook)).id;
  const delivery = (await post(`/v1/webhooks/${webhook}/test`, {})).id;
  // Sources need a connection of the operator; test/memory and test/api/tenants.test.ts have them.
  const { source } = MISSING;
  const made = (await post('/v1/keys', { name: 'seed', scopes: ['embed'], auth_level: 1 })).id;
  const group = (await post('/v1/groups', { name: `group-${randomBytes(6).toString('hex')}` })).name;
  const user = (await post('/v1/users', { email: `${randomBytes(6).toString('hex')}@example.com` })).id;
  return {
    ...{ workflow, run, assistant, source, webhook, delivery, trigger, key: made, user, group },
    bucket,
    collection,
    document: upload.id,
    job: upload.job_id,
    ...{ bulkJob, file, batch, fileBatch },
    config,
  };
}

const isOpen = ({ access }: Route) => access === 'public' || access === 'signature';
const guarded = () => routes.filter((route) => !isOpen(route));
const named = <T>(route: Route, value: T) => [route.operationId, value] as const;

/** Everything that a change of the organization `default` could touch, as text. */
async function digest(): Promise<string> {
  const { sql } = test.appliance;
  const parts = [
    await sql`SELECT id, status, metadata, privacy_level, scope FROM documents ORDER BY id`,
    await sql`SELECT id, name, policy, deleting_at FROM buckets ORDER BY id`,
    await sql`SELECT id, status FROM jobs ORDER BY id`,
    await sql`SELECT id FROM channel_configs ORDER BY id`,
    await sql`SELECT id, name, scopes, revoked_at FROM api_keys WHERE name <> 'test' ORDER BY id`,
    await sql`SELECT id, role, suspended_at, token_generation FROM users ORDER BY id`,
    await sql`SELECT id, plan, suspended_at FROM organizations ORDER BY id`,
    await sql`SELECT id, name FROM collections ORDER BY id`,
    await sql`SELECT id FROM files ORDER BY id`,
    await sql`SELECT id, status FROM batches ORDER BY id`,
    await sql`SELECT id FROM assistants WHERE name = 'helper' ORDER BY id`,
    await sql`SELECT id, name, url, events, disabled_at, sealed_secret FROM webhook_endpoints WHERE name = 'ours' ORDER BY id`,
    await sql`SELECT t.id FROM workflow_triggers t WHERE kind = 'webhook' ORDER BY id`,
    await sql`SELECT * FROM routing ORDER BY 1`,
  ];
  return JSON.stringify(parts);
}

async function unchanged(requests: () => Promise<void>): Promise<void> {
  const before = await digest();
  await requests();
  expect(await digest()).toBe(before);
}

/** Credentials that were valid once, or never were. */
async function refusedCredentials(): Promise<[row: string, key: string | undefined][]> {
  const { sql, keyRing } = test.appliance;
  const idOf = (key: string) => key.split('_')[1] as string;
  const [revoked, expired] = [await test.key(), await test.key()];
  await sql`UPDATE api_keys SET revoked_at = now() WHERE id = ${idOf(revoked)}`;
  await sql`UPDATE api_keys SET expires_at = now() WHERE id = ${idOf(expired)}`;
  const user = await createUser(sql, test.operator, { email: 'gone@example.com', role: 'owner' });
  const token = await createToken(sql, keyRing, test.operator, { user, ttlMs: 3_600_000 });
  const { key } = await createKey(sql, keyRing, test.operator, { name: 'gone', userId: user.id, scopes: ['embed'] });
  await sql`UPDATE users SET suspended_at = now() WHERE id = ${user.id}`;
  const ofSuspended = await test.key({ org: 'suspended' });
  await sql`UPDATE organizations SET suspended_at = now() WHERE name = 'suspended'`;
  return [
    ...([
      ['no key', undefined],
      ['an unknown key', 'svc_wrong'],
      ['a revoked key', revoked],
    ] as const),
    ...([
      ['an expired key', expired],
      ['a token of a suspended user', token.token.reveal()],
    ] as const),
    ...([
      ['a key of a suspended user', key.reveal()],
      ['a key of a suspended organization', ofSuspended],
    ] as const),
  ] as [string, string | undefined][];
}

describe('the matrix of routes and callers', () => {
  it('every route has a request in the matrix, and every field that looks like an id is known', () => {
    expect(Object.keys(REQUESTS).toSorted()).toEqual(routes.map((route) => route.operationId).toSorted());
    expect(routes.flatMap((route) => idsOf(route).unknown.map((name) => `${route.operationId}.${name}`))).toEqual([]);
  });

  it('a caller without a valid credential gets 401 from every guarded route', async () => {
    const rows = await refusedCredentials();
    await unchanged(async () => {
      for (const route of guarded()) {
        for (const [row, key] of rows) {
          const { status } = await send(test, route, key, own);
          expect([row, ...named(route, status)]).toEqual([row, ...named(route, 401)]);
        }
      }
    });
  });

  it('a caller without the scope or the role of a route is refused', async () => {
    const member = await tokenOf('member');
    const keys = new Map<string, string>();
    const keyWithout = async (access: string) => {
      // channels:manage implies channels:send.
      const enough = access === 'channels:send' ? ['channels:send', 'channels:manage'] : [access];
      const scopes = OF_ORGANIZATION.filter((scope) => !enough.includes(scope));
      const key = keys.get(access) ?? (await test.key({ scopes, authLevel: 10 }));
      keys.set(access, key);
      return key;
    };
    await unchanged(async () => {
      for (const route of guarded()) {
        const { access } = route;
        const isManaged = REQUESTS[route.operationId]?.managers === true;
        if (access === 'caller' && !isManaged) continue;
        const refused = access === 'cron_or_platform_admin' ? 401 : 403;
        const needed = (isManaged ? 'buckets:manage' : access.replace(/^.*_or_/, '')) as Scope;
        const { status } = await send(test, route, await keyWithout(needed), own);
        expect(named(route, status)).toEqual(named(route, refused));
        if (SCOPES_BY_ROLE.member.has(needed)) continue;
        expect(named(route, (await send(test, route, member, own)).status)).toEqual(named(route, refused));
      }
    });
  });

  it('ids of another organization are answered like missing ones, each by itself and all together', async () => {
    await unchanged(async () => {
      for (const route of guarded()) {
        for (const name of idsOf(route).known) {
          const foreign = await send(test, route, owner, { ...own, [name]: theirs[name] });
          const missing = await send(test, route, owner, { ...own, [name]: MISSING[name] });
          expect([name, ...named(route, shapeOf(foreign))]).toEqual([name, ...named(route, shapeOf(missing))]);
          if (!route.path.includes(':')) continue;
          const refused = REQUESTS[route.operationId]?.sessions === true ? 403 : 404;
          expect([name, ...named(route, foreign.status)]).toEqual([name, ...named(route, refused)]);
        }
        if (idsOf(route).known.length === 0) continue;
        const [all, none] = [await send(test, route, foreigner, own), await send(test, route, foreigner, MISSING)];
        expect(named(route, shapeOf(all))).toEqual(named(route, shapeOf(none)));
      }
    });
  });

  it.each([
    ['a caller of a low level', 'above-level', () => test.key({ scopes: OF_ORGANIZATION, authLevel: 1 })],
    ['a caller of another department', 'of-sales', () => keyOfUser('finance')],
    ['a key of no group', 'of-board', () => keyInGroup([])],
    ['a key of another group', 'of-board', () => keyInGroup(['Boards'])],
    ['a key of a group that contains the group', 'of-board', () => keyInGroup(['company'], ['group:board'])],
    ['a key that has left the group', 'of-board', () => keyInGroup(['board'], [], true)],
    ['a key of a user of no group', 'of-board', () => keyOfUser('board')],
    ['a member of no group', 'of-board', () => tokenOf('member')],
    ['a key of a group of the same name elsewhere', 'of-board', keyElsewhere],
    ['a key of a group that is shown as the group', 'of-board', keyOfNamesake],
  ] as const)('%s learns nothing of a hidden document from any route', async (_row, name, makeKey) => {
    const key = await makeKey();
    const hidden = { ...MISSING, bucket: own.bucket, collection: own.collection, ...ids[name] };
    const traces = [name, ids[name].document, ids[name].job];
    const before = await stateOf(ids[name].document);
    for (const route of routes) {
      const { known } = idsOf(route);
      const answer = await send(test, route, key, hidden);
      const sent = known.flatMap((each) => (each === 'document' || each === 'job' ? [hidden[each]] : []));
      const found = traces.filter((trace) => textOf(answer).includes(trace) && !sent.includes(trace));
      expect(named(route, found)).toEqual(named(route, []));
      if (sent.length === 0 || isOpen(route)) continue;
      if (ADMITS_LEVEL.has(`${route.operationId} ${name}`)) {
        expect(named(route, answer.status)).toEqual(named(route, 403));
        continue;
      }
      const absent = await send(test, route, key, { ...hidden, document: MISSING.document, job: MISSING.job });
      expect(named(route, shapeOf(answer))).toEqual(named(route, shapeOf(absent)));
    }
    expect(await stateOf(ids[name].document)).toEqual(before);
  });

  it('routes that show documents show them to a caller who may see them, so that the matrix would find a leak', async () => {
    for (const name of NAMES) {
      for (const route of routes.filter(({ operationId }) => REQUESTS[operationId]?.shows)) {
        const answer = await send(test, route, owner, { ...own, ...ids[name] });
        const shown = [name, ids[name].document].some((trace) => textOf(answer).includes(trace));
        expect([name, ...named(route, shown)]).toEqual([name, ...named(route, true)]);
      }
    }
  });
});

/** Edits of one document tell a manager that its level is too high (contract 7.5). */
const ADMITS_LEVEL: ReadonlySet<string> = new Set(['editDocumentMetadata above-level']);

async function tokenOf(role: 'member'): Promise<string> {
  const { sql, keyRing } = test.appliance;
  const email = `${randomBytes(6).toString('hex')}@example.com`;
  const user = await createUser(sql, test.operator, { email, role, authLevel: 10 });
  return (await createToken(sql, keyRing, test.operator, { user, ttlMs: 3_600_000 })).token.reveal();
}

/** Create a key with every scope of an administrator, which has no role and so only its user's department. */
async function keyOfUser(department: string): Promise<string> {
  const { sql, keyRing } = test.appliance;
  const user = await createUser(sql, test.operator, {
    email: `${randomBytes(6).toString('hex')}@example.com`,
    role: 'admin',
    department,
    authLevel: 10,
  });
  const made = { name: 'k', userId: user.id, scopes: OF_ORGANIZATION, authLevel: 10 };
  return (await createKey(sql, keyRing, test.operator, made)).key.reveal();
}

/** Create a key with every scope of an administrator that is in groups, or has been. */
async function keyInGroup(names: readonly string[], others: readonly string[] = [], leaves = false): Promise<string> {
  const key = await test.key({ scopes: OF_ORGANIZATION, authLevel: 10 });
  const member = `key:${key.split('_')[1]}`;
  for (const name of names) {
    await test.call('POST', '/v1/groups', { key: owner, json: { name } });
    const change = async (json: object) => {
      expect((await test.call('PATCH', `/v1/groups/${name}`, { key: owner, json })).status).toBe(200);
    };
    await change({ add: [member, ...others] });
    if (leaves) await change({ remove: [member] });
  }
  return key;
}

/** Create a key in a group whose display name and claim are those of another group. */
async function keyOfNamesake(): Promise<string> {
  const key = await test.key({ scopes: OF_ORGANIZATION, authLevel: 10 });
  const json = { name: 'shown', display_name: 'board', claim: 'group:board', members: [`key:${key.split('_')[1]}`] };
  expect((await test.call('POST', '/v1/groups', { key: owner, json })).status).toBe(201);
  return key;
}

async function keyElsewhere(): Promise<string> {
  const key = await test.key({ scopes: OF_ORGANIZATION, authLevel: 10, org: 'other' });
  const json = { name: 'board', members: [`key:${key.split('_')[1]}`] };
  expect((await test.call('POST', '/v1/groups', { key: foreigner, json })).status).toBe(201);
  return key;
}

const textOf = ({ body }: Answer) => (typeof body === 'string' ? body : JSON.stringify(body));

/** Answer without the ids and names that were sent, and without ids of requests. */
const shapeOf = (answer: Answer) => [
  answer.status,
  textOf(answer).replaceAll(
    /(?:bkt|col|doc|job|chn|req|wfl|run|src|usr|file|batch|vsfb|asst|whk|msg|trg)_\w+|api key not found: \w+|(?:bucket|workflow|source|group)-\w+|Z3JvdXAt\w+/g,
    '*',
  ),
];

async function stateOf(document: string): Promise<unknown> {
  const { sql } = test.appliance;
  return sql`SELECT d.*, j.status AS job_status FROM documents d JOIN jobs j ON j.document_id = d.id WHERE d.id = ${document}`;
}

it('keeps no answered request in memory, on any route', { timeout: 120_000 }, async () => {
  // queryObjects collects the garbage first.
  const responses = () => queryObjects(ServerResponse, { format: 'count' }) as unknown as number;
  const before = responses();
  const asked = routes.filter(({ method }) => method !== 'DELETE');
  for (const route of asked) {
    await Promise.all(Array.from({ length: REPEATED }, () => send(test, route, owner, own)));
  }
  // A route that keeps its requests keeps all of them; idle connections keep their last response.
  await until(async () => responses() < before + REPEATED, { what: 'responses are collected', everyMs: 1_000 });
});
