import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { protocolOf } from '../../../../src/embedding/providers/protocols/protocol-of.ts';
import { PROTOCOLS, type ProtocolName } from '../../../../src/embedding/providers/provider.ts';
import { TaskType } from '../../../../src/models/task-types.ts';
import { Secret } from '../../../../src/platform/secret.ts';
import { FakeUpstream } from '../../../support/fake-upstream.ts';
import { bodyOf, callOf, modelOf, send } from './send.ts';

/** Name of each task type in each protocol, from the vendors' documentation; null if it is not sent. */
const TASKS: Readonly<Record<TaskType, Partial<Record<ProtocolName, string | null>>>> = {
  retrieval_query: tasks('RETRIEVAL_QUERY', 'query', 'retrieval.query', 'search_query', 'search_query', 'query'),
  retrieval_document: tasks(
    ...([
      'RETRIEVAL_DOCUMENT',
      'document',
      'retrieval.passage',
      'search_document',
      'search_document',
      'passage',
    ] as const),
  ),
  semantic_similarity: tasks(
    ...(['SEMANTIC_SIMILARITY', null, 'text-matching', 'clustering', 'search_document', 'passage'] as const),
  ),
  question_answering: tasks(
    ...(['QUESTION_ANSWERING', 'query', 'retrieval.query', 'search_query', 'search_query', 'query'] as const),
  ),
  clustering: tasks('CLUSTERING', null, 'separation', 'clustering', 'clustering', 'passage'),
  classification: tasks('CLASSIFICATION', null, 'classification', 'classification', 'classification', 'passage'),
  code_retrieval: tasks(
    ...(['CODE_RETRIEVAL_QUERY', 'query', 'retrieval.query', 'search_query', 'search_query', 'query'] as const),
  ),
  contradiction: tasks('FACT_VERIFICATION', 'query', 'retrieval.query', 'search_query', 'search_query', 'query'),
  factcheck: tasks('FACT_VERIFICATION', 'query', 'retrieval.query', 'search_query', 'search_query', 'query'),
};

function tasks(google: string, voyage: string | null, jina: string, cohere: string, nomic: string, nim: string) {
  return { gemini: google, vertex: google, voyage, jina, cohere, bedrock: cohere, nomic, nim };
}

/** Body of a call with the texts "one" and "둘" to model "m", with 256 dimensions, for retrieval of documents. */
const BODIES: Readonly<Record<ProtocolName, unknown>> = {
  openai: { input: ['one', '둘'], model: 'm', dimensions: 256, encoding_format: 'base64' },
  gemini: {
    requests: ['one', '둘'].map((text) => ({
      ...{ model: 'models/m', content: { parts: [{ text }] } },
      ...{ taskType: 'RETRIEVAL_DOCUMENT', outputDimensionality: 256 },
    })),
  },
  voyage: {
    ...{ input: ['one', '둘'], model: 'm', input_type: 'document', truncation: false },
    ...{ output_dimension: 256, encoding_format: 'base64' },
  },
  jina: {
    ...{ input: ['one', '둘'], model: 'm', task: 'retrieval.passage', dimensions: 256 },
    ...{ embedding_type: 'base64', truncate: false },
  },
  cohere: {
    ...{ model: 'm', texts: ['one', '둘'], input_type: 'search_document', embedding_types: ['float'] },
    ...{ output_dimension: 256, truncate: 'NONE' },
  },
  tei: { inputs: ['one', '둘'], normalize: true, truncate: false },
  ollama: { model: 'm', input: ['one', '둘'], truncate: false, dimensions: 256 },
  azure: { input: ['one', '둘'], model: 'm', dimensions: 256, encoding_format: 'base64' },
  vertex: {
    instances: ['one', '둘'].map((content) => ({ content, task_type: 'RETRIEVAL_DOCUMENT' })),
    parameters: { autoTruncate: false, outputDimensionality: 256 },
  },
  bedrock: {
    ...{ texts: ['one', '둘'], input_type: 'search_document', embedding_types: ['float'] },
    ...{ output_dimension: 256, truncate: 'NONE' },
  },
  mistral: { input: ['one', '둘'], model: 'm', output_dimension: 256, encoding_format: 'base64' },
  nomic: {
    ...{ texts: ['one', '둘'], model: 'm', task_type: 'search_document' },
    ...{ dimensionality: 256, long_text_mode: 'mean' },
  },
  mixedbread: { input: ['one', '둘'], model: 'm', dimensions: 256, normalized: true, encoding_format: 'base64' },
  nim: {
    ...{ input: ['one', '둘'], model: 'm', input_type: 'passage', modality: 'text', truncate: 'NONE' },
    ...{ dimensions: 256, encoding_format: 'base64' },
  },
};

/** Body of this call without task type and dimension. */
const PLAIN_BODIES: Readonly<Record<ProtocolName, unknown>> = {
  openai: { input: ['one', '둘'], model: 'm', encoding_format: 'base64' },
  gemini: { requests: ['one', '둘'].map((text) => ({ model: 'models/m', content: { parts: [{ text }] } })) },
  voyage: { input: ['one', '둘'], model: 'm', input_type: null, truncation: false, encoding_format: 'base64' },
  jina: { input: ['one', '둘'], model: 'm', embedding_type: 'base64', truncate: false },
  cohere: {
    ...{ model: 'm', texts: ['one', '둘'], input_type: 'search_document' },
    ...{ embedding_types: ['float'], truncate: 'NONE' },
  },
  tei: { inputs: ['one', '둘'], normalize: true, truncate: false },
  ollama: { model: 'm', input: ['one', '둘'], truncate: false },
  azure: { input: ['one', '둘'], model: 'm', encoding_format: 'base64' },
  vertex: { instances: [{ content: 'one' }, { content: '둘' }], parameters: { autoTruncate: false } },
  bedrock: { texts: ['one', '둘'], input_type: 'search_document', embedding_types: ['float'], truncate: 'NONE' },
  mistral: { input: ['one', '둘'], model: 'm', encoding_format: 'base64' },
  nomic: { texts: ['one', '둘'], model: 'm', task_type: 'search_document', long_text_mode: 'mean' },
  mixedbread: { input: ['one', '둘'], model: 'm', normalized: true, encoding_format: 'base64' },
  nim: {
    ...{ input: ['one', '둘'], model: 'm', input_type: 'passage', modality: 'text', truncate: 'NONE' },
    encoding_format: 'base64',
  },
};

const PATHS: Readonly<Record<ProtocolName, string>> = {
  openai: '/embeddings',
  gemini: '/models/m:batchEmbedContents',
  voyage: '/embeddings',
  jina: '/embeddings',
  cohere: '/v2/embed',
  tei: '/embed',
  ollama: '/api/embed',
  azure: '/embeddings',
  vertex: '/publishers/google/models/m:predict',
  bedrock: '/model/cohere.embed-v4%3A0/invoke',
  mistral: '/embeddings',
  nomic: '/v1/embedding/text',
  mixedbread: '/embeddings',
  nim: '/embeddings',
};

describe.each(PROTOCOLS)('a request of protocol %s', (name) => {
  const protocol = protocolOf(name);
  const callFor = (fields: Parameters<typeof callOf>[0] = {}) => callOf({ upstreamModel: modelOf(name), ...fields });
  let fake: FakeUpstream;

  beforeAll(async () => {
    fake = await FakeUpstream.start({ apiKeys: ['key-1'] });
  });
  afterAll(() => fake.close());

  const apiKey = new Secret('key-1');

  it('a request has exactly the fields of the protocol', () => {
    const request = protocol.request(callFor({ taskType: 'retrieval_document', dimensions: 256 }));
    expect(request).toMatchObject({ method: 'POST', path: PATHS[name] });
    expect(bodyOf(request)).toEqual(BODIES[name]);
  });

  it('a request leaves out a task type and a dimension that are not given', () => {
    expect(bodyOf(protocol.request(callFor()))).toEqual(PLAIN_BODIES[name]);
  });

  it.each(TaskType.options)('a request names task type %s by the protocol’s own word', async (taskType) => {
    const before = fake.calls.length;
    const reply = await send(fake.baseUrl(name), protocol.request(callFor({ taskType, apiKey })));
    expect(reply.status).toBe(200);
    expect(fake.violations).toEqual([]);
    expect(fake.calls.slice(before)).toMatchObject([
      { protocol: name, texts: ['one', '둘'], taskType: TASKS[taskType][name] ?? null, dimensions: null },
    ]);
  });

  it('a request contains a dimension only if the protocol supports it', async () => {
    const before = fake.calls.length;
    const reply = await send(fake.baseUrl(name), protocol.request(callFor({ dimensions: 5, apiKey })));
    expect(fake.violations).toEqual([]);
    const asked = name === 'tei' ? null : 5;
    expect(fake.calls.slice(before)).toMatchObject([{ dimensions: asked }]);
    const { vectors } = protocol.parse(reply, { count: 2, dimensions: asked ?? 8 });
    expect(vectors).toHaveLength(2 * (asked ?? 8));
  });

  it('a request has the credential in a header and nowhere else', () => {
    const request = protocol.request(callFor({ apiKey: new Secret('canary-4711') }));
    const own: Partial<Record<ProtocolName, string>> = { gemini: 'x-goog-api-key', azure: 'api-key' };
    const header = own[name];
    expect(request.headers).toEqual(
      header === undefined ? { authorization: 'Bearer canary-4711' } : { [header]: 'canary-4711' },
    );
    expect(request.path + request.body).not.toContain('canary-4711');
  });

  it('a request has no credential if none is configured', () => {
    expect(protocol.request(callFor()).headers).toEqual({});
  });

  it('a request contains texts of special characters unchanged, and lone surrogates as U+FFFD', async () => {
    const texts = ['a\u0000b', '"\\\n\u2028', '😀 한국어', `cut${'😀'[0]}`, '__proto__'];
    const before = fake.calls.length;
    await send(fake.baseUrl(name), protocol.request(callFor({ texts, apiKey })));
    expect(fake.violations).toEqual([]);
    expect(fake.calls[before]?.texts).toEqual(['a\u0000b', '"\\\n\u2028', '😀 한국어', 'cut\ufffd', '__proto__']);
  });

  it('a request with as many texts as the cap is accepted', async () => {
    const { itemsMax } = protocol.capsOf?.(modelOf(name)) ?? protocol.caps;
    const texts = Array.from({ length: itemsMax }, (_, index) => `t${index}`);
    const reply = await send(fake.baseUrl(name), protocol.request(callFor({ texts, apiKey })));
    expect(fake.violations).toEqual([]);
    const { vectors } = protocol.parse(reply, { count: texts.length, dimensions: 8 });
    const model = fake.calls.at(-1)?.model as string;
    expect(vectors.subarray(-8)).toEqual(fake.vectorOf(model, texts.at(-1) as string));
  });
});

describe('a request of protocol gemini', () => {
  it('a request to Gemini accepts the resource name and the plain name of a model, and escapes it in the path', () => {
    const request = protocolOf('gemini').request(callOf({ upstreamModel: 'models/a b/../c', texts: ['x'] }));
    expect(request.path).toBe('/models/a%20b%2F..%2Fc:batchEmbedContents');
    expect(bodyOf(request)).toMatchObject({ requests: [{ model: 'models/a b/../c' }] });
  });
});

describe('a request of protocol jina', () => {
  // The fake has the tasks of each model by the vendor's OpenAPI document, and refuses others.
  it.each([
    ['jina-embeddings-v5-text-small', 'retrieval.query', 'retrieval.passage', 'clustering', 'classification'],
    ['jina-embeddings-v4', 'retrieval.query', 'retrieval.passage', 'text-matching', 'text-matching'],
    ['jina-embeddings-v2-base-en', null, null, null, null],
    ['jina-clip-v2', 'retrieval.query', null, null, null],
    ['jina-code-embeddings-0.5b', 'nl2code.query', 'nl2code.passage', 'nl2code.query', 'nl2code.query'],
  ])('a request names the tasks that %s has', async (upstreamModel, query, document, clustering, classification) => {
    const fake = await FakeUpstream.start();
    for (const taskType of TaskType.options) {
      const reply = await send(fake.baseUrl('jina'), protocolOf('jina').request(callOf({ upstreamModel, taskType })));
      expect([taskType, reply.status]).toEqual([taskType, 200]);
    }
    await fake.close();
    const sent = fake.calls.map((call, index) => [TaskType.options[index], call.taskType]);
    expect(Object.fromEntries(sent)).toMatchObject({
      ...{ retrieval_query: query, question_answering: query, code_retrieval: query, factcheck: query },
      ...{ retrieval_document: document, clustering, classification },
    });
  });
});

describe('discovery of caps', () => {
  it('the discovery of caps requests the batch size of a TEI server', async () => {
    const fake = await FakeUpstream.start({ itemsMax: 7, apiKeys: ['key-1'] });
    const discover = protocolOf('tei').discover;
    if (!discover) throw new Error('TEI can be asked');
    const reply = await send(fake.baseUrl('tei'), discover.request(new Secret('key-1')));
    await fake.close();
    expect(discover.parse(reply)).toEqual({ itemsMax: 7, tokensMax: null });
  });

  it.each(['<html>', '{}', '{"max_client_batch_size":0}', '{"max_client_batch_size":"32"}'])(
    'the discovery of caps treats %s as a fault',
    (body) => {
      const parse = () => protocolOf('tei').discover?.parse({ headers: {}, body: Buffer.from(body) });
      expect(parse).toThrow(expect.objectContaining({ kind: 'transient' }));
    },
  );

  it('no other protocol than TEI has a discovery of caps', () => {
    expect(PROTOCOLS.filter((name) => protocolOf(name).discover)).toEqual(['tei']);
  });
});
