import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { LARGE, openTestGateway, SMALL, type TestGateway } from '../support/gateway.ts';

// An operator removes a model from the settings that an organization has chosen.
const OWN = 'my/model';
const models = [{ id: OWN, vendor: 'vendor-a', dimensions: 8, max_tokens: 100 }];

let installation: TestAppliance;
let test: TestGateway;
const keys: Record<string, string> = {};

beforeAll(async () => {
  installation = await openTestAppliance();
  const before = await openTestGateway({ models }, {}, { beside: installation });
  for (const [org, json] of Object.entries({
    'lost its fallback': { primary: SMALL, fallback: OWN, mode: 'fallback' },
    'lost its primary': { primary: OWN, fallback: LARGE, mode: 'fallback' },
    'lost its only model': { primary: OWN },
  })) {
    const key = await before.key({ org, scopes: ['embed', 'routing:manage'] });
    expect((await before.call('PUT', '/v1/routing', { key, json })).status).toBe(200);
    keys[org] = key;
  }
  await before.close();
  test = await openTestGateway({}, {}, { beside: installation });
});
afterAll(async () => {
  await test.close();
  await installation.close();
});

it.each([
  ['lost its fallback', 200, SMALL],
  ['lost its primary', 200, LARGE],
  ['lost its only model', 400, undefined],
])('an organization that %s gets a warning, and may choose another model', async (org, status, model) => {
  const key = keys[org] as string;
  const answer = await test.call('POST', '/v1/embeddings', { key, json: { input: 'a text' } });
  expect([answer.status, answer.body.model]).toEqual([status, model]);
  if (status === 400) expect(answer.body.error).toMatchObject({ code: 'unknown_model' });
  const routing = await test.call('GET', '/v1/routing', { key });
  expect(routing.status).toBe(200);
  expect(routing.body.warnings).toContainEqual(`${OWN} is no longer in the catalog; choose another model`);
  const set = await test.call('PUT', '/v1/routing', { key, json: { primary: SMALL } });
  expect(set.body).toMatchObject({ primary: SMALL, warnings: [] });
  expect((await test.call('POST', '/v1/embeddings', { key, json: { input: 'a text' } })).body.model).toBe(SMALL);
});
