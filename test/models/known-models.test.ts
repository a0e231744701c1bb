import { expect, it } from 'vitest';
import { PROTOCOLS } from '../../src/embedding/providers/provider.ts';
import { Catalog } from '../../src/models/catalog.ts';
import { knownModelsOf } from '../../src/models/known-models.ts';

const catalogOf = (protocols: Record<string, string>, settings: ConstructorParameters<typeof Catalog>[0] = []) =>
  new Catalog(settings, Object.fromEntries(Object.keys(protocols).map((name) => [name, {}])), {}, protocols);

it('a provider serves the known models of its protocol under its own name', () => {
  const catalog = catalogOf({ eu: 'mistral' });
  expect(catalog.find('eu/codestral-embed')).toMatchObject({
    ...{ vendor: 'eu', nativeDimension: 1536, maxTokens: 8192, variableDimensions: true, revision: '1' },
  });
  expect(catalog.find('mistral-embed').id).toBe('eu/mistral-embed');
  expect(new Catalog().get('eu/mistral-embed')).toBeUndefined();
});

it('settings of the operator change a known model', () => {
  const catalog = catalogOf({ b: 'bedrock' }, [{ id: 'b/cohere.embed-v4:0', maxTokens: 1000, pricePerMillion: 0.12 }]);
  const model = catalog.find('b/cohere.embed-v4:0');
  expect(model).toMatchObject({ nativeDimension: 1536, maxTokens: 1000, pricePerMillion: 0.12 });
});

it('a deployment of another name is a revision of its own', () => {
  const id = 'azure/text-embedding-3-small';
  const catalog = new Catalog([], { azure: { [id]: 'prod-small' } }, {}, { azure: 'azure' });
  expect(catalog.find(id)).toMatchObject({ revision: '1@prod-small', tokenizer: { kind: 'cl100k' } });
});

it('known models come with an added vendor and go with it, and its own models stay', () => {
  const catalog = new Catalog();
  catalog.setAdded([{ id: 'n/own', vendor: 'n', dimensions: 8, maxTokens: 9 }], { n: 'nim' });
  expect(catalog.find('n/nvidia/llama-nemotron-embed-1b-v2')).toMatchObject({ nativeDimension: 2048, vendor: 'n' });
  expect(catalog.find('n/own').maxTokens).toBe(9);
  catalog.setAdded([]);
  expect(catalog.get('n/nvidia/llama-nemotron-embed-1b-v2')).toBeUndefined();
});

it('Mixedbread queries have a prompt, documents and compared texts have none', () => {
  const { prefixes } = catalogOf({ m: 'mixedbread' }).find('mixedbread-ai/mxbai-embed-large-v1');
  expect(prefixes.retrieval_query).toBe('Represent this sentence for searching relevant passages: ');
  expect(Object.keys(prefixes)).not.toContain('retrieval_document');
  expect(Object.keys(prefixes)).not.toContain('semantic_similarity');
});

it('Gemini Embedding 2 has the same prompts on Vertex AI, and the other models take a task type', () => {
  const catalog = catalogOf({ g: 'vertex' });
  expect(catalog.find('g/gemini-embedding-2')).toMatchObject({ takesTaskType: false, revision: '1+prompts' });
  expect(catalog.find('g/gemini-embedding-001')).toMatchObject({ takesTaskType: true, prefixes: {} });
});

it('the known models of a protocol have different ids, and those of the contract are not among them', () => {
  const ids = PROTOCOLS.flatMap((protocol) => knownModelsOf(protocol, protocol).map(({ id }) => id));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => new Catalog().get(id))).toEqual([]);
});
