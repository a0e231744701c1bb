import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { folderOf } from '../../src/local-models/model-folders.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { calibrate } from '../support/calibrate.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { install } from '../support/local-models.ts';

const REFERENCE = 'local/reference';
/** The same model with weights of 8 bits: its vectors are near those of the reference, but not the same. */
const OTHER = 'local/other';
const CONVERSION = { recallAt1: { forward: expect.any(Number), backward: expect.any(Number) } };

const DOCUMENTS = {
  harbour: 'ferry tide pilot anchor cargo storm',
  ledger: 'audit refund invoice margin tax receipt',
  kitchen: 'kettle flour oven butter onion broth',
  clinic: 'patient dose nurse fever vaccine ward',
};

let test: TestApi;
let key: string;
beforeAll(async () => {
  test = await openTestApi();
  key = await test.key({ scopes: ['embed', 'search', 'routing:manage'] });
  await install(test.appliance, 'bert', { name: REFERENCE });
  await install(test.appliance, 'bert', { name: OTHER, variant: 'int8' });
});
afterAll(() => test.close());

const route = async (json: object) => {
  expect((await test.call('PUT', '/v1/routing', { key, json })).status).toBe(200);
};

describe('local models that are calibrated', () => {
  it('one makes the space, and another is mapped into it, like models of vendors', async () => {
    const reference = await calibrate(test.appliance, REFERENCE, { reference: true });
    expect(reference).toMatchObject({ model: REFERENCE, space: 'canon-v1', grade: 'good', active: true });
    const other = await calibrate(test.appliance, OTHER);
    expect(other).toMatchObject({ model: OTHER, space: 'canon-v1', grade: 'good', active: true });
    expect(other.scores.scores[0]).toMatchObject(CONVERSION);
    expect(other.map_version).toBeGreaterThan(reference.map_version);
  });

  it('what one has embedded is found by the other, without being embedded again', async () => {
    await route({ primary: OTHER });
    const documents = Object.entries(DOCUMENTS).map(([id, text]) => ({ id, fileName: `${id}.txt`, text }));
    const { idOf } = await ingestAll(test.appliance, test.operator, 'default', documents);
    const [table] = await test.appliance.sql`SELECT model, space FROM index_tables`;
    expect(table).toMatchObject({ model: OTHER, space: 'canon-v1' });
    // As if the model of the bucket were lost.
    await test.appliance.sql`UPDATE index_tables SET model = ${REFERENCE}`;
    const search = (query: string) =>
      test.call('POST', '/v2/buckets/default/search', { key, json: { query, mode: 'vector' } });
    // A search begins with the model that its process saw last.
    await search('tide');
    for (const [id, text] of Object.entries(DOCUMENTS)) {
      const { status, body } = await search(text);
      expect([status, body.model, body.warnings]).toEqual([200, REFERENCE, []]);
      expect(idOf.get(body.results[0].document_id)).toBe(id);
    }
  });

  it('a request falls back to the other when the files of the first are lost', async () => {
    await route({ primary: OTHER, fallback: REFERENCE, mode: 'fallback' });
    const embed = () => test.call('POST', '/v1/embeddings', { key, json: { input: DOCUMENTS.harbour } });
    const before = await embed();
    expect([before.status, before.body.model]).toEqual([200, OTHER]);
    const { localModels, config } = test.appliance;
    const { revision = '' } = localModels.list().find(({ spec }) => spec.name === OTHER) ?? {};
    rmSync(folderOf(config.dataDir, OTHER, revision), { recursive: true });
    await localModels.refresh();
    const after = await embed();
    expect([after.status, after.body.model]).toEqual([200, REFERENCE]);
    const cosine = before.body.data[0].embedding.reduce(
      (sum: number, value: number, at: number) => sum + value * after.body.data[0].embedding[at],
      0,
    );
    expect(cosine).toBeGreaterThan(0.9);
  });
});
