import { expect, it } from 'vitest';
import { Catalog } from '../../src/models/catalog.ts';

const own = (id: string, vendor: string) => ({ id, vendor, dimensions: 8, maxTokens: 100 });

it("a model is found by its id and by its vendor's own name", () => {
  const catalog = new Catalog([own('vendor-a/acme/deep-1', 'vendor-a')]);
  expect(catalog.find('text-embedding-3-small').id).toBe('vendor-a/text-embedding-3-small');
  expect(catalog.find('acme/deep-1').id).toBe('vendor-a/acme/deep-1');
  expect(catalog.find('lexical-1').id).toBe('local/lexical-1');
});

it('a name that several vendors use is refused with their ids', () => {
  const catalog = new Catalog([own('vendor-a/m', 'vendor-a'), own('vendor-b/m', 'vendor-b')]);
  expect(() => catalog.find('m')).toThrow('vendor-a/m and vendor-b/m have this name; name one of them');
});

it.each([
  ['vendor-a/text-embeding-3-small', 'did you mean "vendor-a/text-embedding-3-small"? GET /v1/models lists the models'],
  ['text-embedding-3-smal', 'did you mean "vendor-a/text-embedding-3-small"? GET /v1/models lists the models'],
  ['no/such', 'unknown model "no/such"; GET /v1/models lists the models'],
])('the unknown model %s names the closest one', (name, message) => {
  expect(() => new Catalog().find(name)).toThrow(message);
});

it('the operator gives models more names', () => {
  const catalog = new Catalog([], {}, { 'text-embedding-ada-002': 'vendor-d/bge-m3-ko' });
  expect(catalog.find('text-embedding-ada-002').id).toBe('vendor-d/bge-m3-ko');
  expect(() => new Catalog([], {}, { ada: 'vendor-d/none' })).toThrow(
    'model_names: "ada" names the unknown model "vendor-d/none"',
  );
  expect(() => new Catalog([], {}, { 'vendor-b/embedding-001': 'vendor-b/embedding-002' })).toThrow(
    'model_names: "vendor-b/embedding-001" is the id of a model',
  );
});
