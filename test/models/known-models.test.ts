import { expect, it } from 'vitest';
import { PROTOCOLS } from '../../src/embedding/providers/provider.ts';
import { Catalog } from '../../src/models/catalog.ts';
import { knownModelsOf } from '../../src/models/known-models.ts';

/** Known models of a protocol, whether an operator names them or not. */
const all = (protocol: string) => knownModelsOf(protocol, protocol, { has: () => true });
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
  catalog.setAdded([{ id: 'n/own', vendor: 'n', dimensions: 8, maxTokens: 9 }], { n: 'nomic' });
  expect(catalog.find('n/nomic-embed-text-v1.5')).toMatchObject({ nativeDimension: 768, vendor: 'n' });
  expect(catalog.find('n/own').maxTokens).toBe(9);
  catalog.setAdded([]);
  expect(catalog.get('n/nomic-embed-text-v1.5')).toBeUndefined();
});

it('a server of deployed models serves only those that the operator names, with their facts', () => {
  const id = 'n/nvidia/llama-nemotron-embed-1b-v2';
  const named = new Catalog([], { n: { [id]: 'nvidia/llama-nemotron-embed-1b-v2' } }, {}, { n: 'nim' });
  expect(named.list().filter(({ vendor }) => vendor === 'n')).toMatchObject([{ id, nativeDimension: 2048 }]);
  const catalog = new Catalog();
  catalog.setAdded([{ id: 'a/text-embedding-3-large', vendor: 'a', dimensions: 3072, maxTokens: 512 }], { a: 'azure' });
  expect(catalog.list().filter(({ vendor }) => vendor === 'a')).toMatchObject([
    { id: 'a/text-embedding-3-large', maxTokens: 8191, tokenizer: { kind: 'cl100k' } },
  ]);
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
  const ids = PROTOCOLS.flatMap((protocol) => all(protocol).map(({ id }) => id));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => new Catalog().get(id))).toEqual([]);
});
