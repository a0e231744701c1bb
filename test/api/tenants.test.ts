import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiRoutes } from '../../server/api-service.ts';
import type { Route } from '../../server/route.ts';
import { SCOPES, type Scope } from '../../src/access/caller.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { type Answer, openTestApi, type TestApi } from '../support/api.ts';
import { createConfig } from '../support/channels.ts';
import { batchOf, storeFile } from '../support/stored-file.ts';

// Tests of every route with every kind of caller that must be refused. The cases come from the route table, so that a
// new route is tested as soon as it is mounted.
let test: TestApi;
let routes: Route[];
let keys: { own: string; foreign: string; revoked: string; expired: string };
const ids: Record<string, string> = {};

beforeAll(async () => {
  test = await openTestApi({
    worker: false,
    settings: { sources: { docs: { type: 'folder', root: import.meta.dirname } } },
  });
  const { sql } = test.appliance;
  routes = apiRoutes(test.appliance, () => {});
  keys = {
    own: await test.key({ scopes: [...SCOPES], authLevel: 10 }),
    foreign: await test.key({
      scopes: SCOPES.filter((scope) => scope !== 'platform_admin'),
      authLevel: 10,
      org: 'other',
    }),
    revoked: await test.key(),
    expired: await test.key(),
  };
  const idOf = (key: string) => key.split('_')[1] as string;
  await sql`UPDATE api_keys SET revoked_at = now() WHERE id = ${idOf(keys.revoked)}`;
  await sql`UPDATE api_keys SET expires_at = now() WHERE id = ${idOf(keys.expired)}`;
  const json = { filename: 'mine.txt', text: 'mine' };
  const { body } = await test.call('POST', '/v1/buckets/default/documents', { key: keys.own, json });
  const config = await createConfig(test, keys.own);
  const source = { name: 'mine', connection: 'docs', bucket: 'default' };
  const made = await test.call('POST', '/v1/memory/sources', { key: keys.own, json: source });
  const file = await storeFile(test, keys.own);
  const batch = await test.call('POST', '/v1/batches', { key: keys.own, json: batchOf(file) });
  const files = { file_ids: [await storeFile(test, keys.own, 'assistants')] };
  const added = await test.call('POST', '/v1/vector_stores/default/file_batches', { key: keys.own, json: files });
  Object.assign(ids, {
    ...{ source: made.body.id, file_id: file, batch_id: batch.body.id, file_batch: added.body.id },
    bucket: body.bucket_id,
    document: body.id,
    job: body.job_id,
    config,
    id: 'local/lexical-1',
  });
});
afterAll(() => test.close());

const path = (route: Route, given: Record<string, string> = ids) =>
  route.path.replace(/[:*](\w+)/g, (_, name: string) => given[name] ?? 'missing');

function call(route: Route, key: string | undefined, to = path(route)): Promise<Answer> {
  const fields = {
    ...{ name: 'x', input: 'x', query: 'x', filename: 'x.txt', text: 'x' },
    ...{ statement: 'SELECT documents', groups: [], model: 'local/lexical-1' },
    ...{ file_id: 'x', file_ids: ['x'], attributes: {} },
    ...{ engine: 'lance', rows: [{ id: 'x', vector: [1] }] },
  };
  const schema = route.operationId === 'uploadDocument' ? UploadRequest : route.body;
  const { shape = {} } = (schema ?? {}) as { shape?: object };
  const isKnown = (name: string) => route.refusesUnknownFields !== true || Object.hasOwn(shape, name);
  const json =
    route.reads === 'none'
      ? {}
      : { json: Object.fromEntries(Object.entries(fields).filter(([name]) => isKnown(name))) };
  return test.call(route.method, to, { ...(key ? { key } : {}), ...json });
}

const guarded = () =>
  routes.filter((route) => !['public', 'signature', 'loopback_or_platform_admin'].includes(route.access));

describe('every guarded route', () => {
  it('every guarded route refuses callers without a valid key', async () => {
    for (const route of guarded()) {
      for (const key of [undefined, 'svc_wrong', keys.revoked, keys.expired]) {
        expect([route.operationId, (await call(route, key)).status]).toEqual([route.operationId, 401]);
      }
    }
  });

  it('every guarded route refuses a key that has all scopes but the one it needs', async () => {
    for (const route of guarded().filter((route) => route.access !== 'caller')) {
      // channels:manage implies channels:send.
      const enough = route.access === 'channels:send' ? ['channels:send', 'channels:manage'] : [route.access];
      const scopes = SCOPES.filter((scope) => !enough.includes(scope) && scope !== 'platform_admin') as Scope[];
      const { status, body } = await call(route, await test.key({ scopes }));
      // The route of the cron secret does not authenticate ordinary keys.
      const [refusal, wanted] =
        route.access === 'cron_or_platform_admin' ? [401, 'platform_admin'] : [403, route.access];
      expect([route.operationId, status]).toEqual([route.operationId, refusal]);
      expect(JSON.stringify(body)).toContain(wanted);
    }
  });

  it("every guarded route answers another organization's ids like missing ones", async () => {
    for (const route of guarded().filter((route) =>
      /:(bucket|document|job|config|source|file_id|batch_id|file_batch)/.test(route.path),
    )) {
      const missing = {
        ...{ bucket: 'bkt_missing', document: 'doc_missing', job: 'job_missing', config: 'chn_missing' },
        ...{ source: 'src_missing', file_id: 'file_missing', batch_id: 'batch_missing', file_batch: 'vsfb_missing' },
      };
      const foreign = await call(route, keys.foreign);
      const absent = await call(route, keys.foreign, path(route, missing));
      // A bucket is deleted only by the session of a user, so every key is refused before the bucket is looked for.
      // Histories are for people who see every document.
      const refused = ['deleteBucket', 'getDocumentHistory'].includes(route.operationId) ? 403 : 404;
      expect([route.operationId, foreign.status]).toEqual([route.operationId, refused]);
      expect(absent.status).toBe(refused);
      const anonymous = (answer: Answer) =>
        JSON.stringify(answer.body).replaceAll(/(bkt|doc|job|chn|src|file|batch|vsfb|req)_\w+|default/g, '*');
      expect(anonymous(foreign)).toBe(anonymous(absent));
    }
  });

  it('a document is not found in a bucket of another organization', async () => {
    const foreign = await test.call('POST', '/v1/buckets', { key: keys.foreign, json: { name: 'theirs' } });
    const nested = await test.call('GET', `/v1/buckets/${foreign.body.id}/documents/${ids['document']}`, {
      key: keys.foreign,
    });
    expect(nested.status).toBe(404);
  });

  it('only states, pages and the ways to sign in are public, and those of messengers and of starts are signed', () => {
    const open = routes.filter((route) => route.access === 'public').map((route) => route.operationId);
    expect(open.toSorted()).toEqual(
      [
        ...['getHealth', 'getHome', 'getOpenApi', 'getToolsOpenApi', 'getReadiness', 'retiredEmbed', 'showDocument'],
        ...['showConsole', 'showConsolePage', 'getConsoleAsset', 'showReference', 'getReferenceAsset'],
        ...['showHelp', 'showHelpPage', 'getInstallation', 'getInstallationLogo'],
        ...['createSession', 'listSignInMethods', 'beginOidcSignIn', 'finishOidcSignIn'],
        ...['getInvitation', 'acceptInvitation', 'viewInvitation', 'signInByInvitation', 'signInByReset'],
        ...['askToSignInByPasskey', 'signInByPasskey'],
        ...['getOAuthServerMetadata', 'getOAuthResourceMetadata', 'authorizeClient', 'registerOAuthClient'],
        ...['issueOAuthTokens', 'revokeOAuthToken'],
      ].toSorted(),
    );
    const signed = routes.filter((route) => route.access === 'signature').map((route) => route.operationId);
    expect(signed).toEqual([
      ...['answerKakaoSkill', 'answerTelegramUpdate', 'answerTeamsMessage', 'answerSlackEvent', 'answerLineWebhook'],
      ...['receiveDelivery', 'receiveDeliveryOfChannel', 'startWorkflowByWebhook'],
    ]);
  });
});

describe('operational routes', () => {
  it('healthz, readyz, metrics and openapi.json answer', async () => {
    expect((await test.call('GET', '/healthz')).body).toEqual({ status: 'ok' });
    expect((await test.call('GET', '/readyz')).body).toEqual({
      status: 'ok',
      checks: { database: 'ok', objects: 'ok', index: 'ok' },
      latency_ms: { database: expect.any(Number), objects: expect.any(Number), index: expect.any(Number) },
    });
    expect((await test.call('GET', '/metrics')).body).toContain('service_http_requests_total');
    const document = (await test.call('GET', '/openapi.json')).body;
    expect(document.openapi).toBe('3.1.0');
    expect(Object.keys(document.paths)).toContain('/v1/embeddings');
    for (const route of routes) {
      const operation = document.paths[route.path.replace(/[:*](\w+)/g, '{$1}')][route.method.toLowerCase()];
      expect(operation.operationId).toBe(route.operationId);
    }
  });
});
