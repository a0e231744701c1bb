import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { CreateBucket } from '../../src/documents/schema.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import {
  DIMENSION,
  install,
  lowestCosine,
  referenceTexts,
  referenceTokens,
  referenceVectors,
  TOKENS_MAX,
} from '../support/local-models.ts';
import { until } from '../support/until.ts';

const MODEL = 'local/small';
const WITHIN_MS = 120_000;
const texts = referenceTexts();
const reference = referenceVectors('bert');

/** Different texts that fit into one chunk of at most 64 tokens. */
const shortTexts = referenceTokens('bert').flatMap((ids, at) => {
  const text = (texts[at] as string).trim();
  return ids.length > 6 && ids.length < 40 && text.length > 12 && !/\p{Cc}/u.test(text) ? [text] : [];
});

let api: TestApi;
let key: string;
beforeAll(async () => {
  api = await openTestApi({
    settings: {
      models: [
        { id: 'my-org/mapped', local: MODEL, dimensions: DIMENSION, max_tokens: 40 },
        { id: 'my-org/absent', local: 'local/absent', dimensions: DIMENSION, max_tokens: 40 },
      ],
      rerank: { model: 'local/ranker', timeout_seconds: 30 },
    },
  });
  key = await api.key();
  await install(api.appliance, 'bert', { name: MODEL });
  await install(api.appliance, 'reranker', { name: 'local/ranker', kind: 'reranker' });
});
afterAll(() => api.close());

function embed(input: string | string[], more: object = {}) {
  return api.call('POST', '/v1/embeddings', { key, json: { model: MODEL, input, ...more } });
}

/** Process of a model, if it runs. */
function pidOf(model: string): number | null {
  return api.appliance.localModels.states().find(({ name }) => name === model)?.pid ?? null;
}

describe('a local model in the gateway', () => {
  it("requests get the vectors of Python's onnxruntime, and tokens are counted with the special ones", async () => {
    const at = [200, 300, 400];
    const { status, body } = await embed(at.map((each) => texts[each] as string));
    expect(status).toBe(200);
    expect(body.model).toBe(MODEL);
    const vectors = Float32Array.from(body.data.flatMap(({ embedding }: { embedding: number[] }) => embedding));
    const wanted = Float32Array.from(
      at.flatMap((each) => [...reference.subarray(each * DIMENSION, (each + 1) * DIMENSION)]),
    );
    expect(lowestCosine(vectors, wanted, [0, 1, 2])).toBeGreaterThan(0.99999);
    expect(body.usage.prompt_tokens).toBeGreaterThan(3 * 2);
  });

  it('the prompt of the task type is put in front of the text', async () => {
    const [asQuery, plain] = await Promise.all([
      embed('ferry', { task_type: 'retrieval_query' }),
      embed('query: ferry'),
    ]);
    expect(asQuery.body.data[0].embedding).toEqual(plain.body.data[0].embedding);
  });

  it('a text over the maximum of the model is refused with its position, as by any model', async () => {
    const { status, body } = await embed(['short', 'word '.repeat(TOKENS_MAX * 2)]);
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: 'token_limit_exceeded', param: 'input[1]' });
  });

  it('an empty text is refused, and emoji and lone surrogates are embedded', async () => {
    expect((await embed('')).status).toBe(400);
    expect((await embed(['😀 👩‍👩‍👧‍👦', 'a\ud800b'])).status).toBe(200);
  });

  it('GET /v1/models lists it with its dimension, and shows models that it serves as available', async () => {
    const { body } = await api.call('GET', '/v1/models', { key });
    const byId = new Map(body.data.map((model: { id: string }) => [model.id, model]));
    expect(byId.get(MODEL)).toMatchObject({
      owned_by: 'local',
      kind: 'semantic',
      default_dimension: DIMENSION,
      available: true,
    });
    expect(byId.get('my-org/mapped')).toMatchObject({ available: true, max_tokens: 40 });
    expect(byId.get('my-org/absent')).toMatchObject({ available: false });
    expect(byId.get('local/ranker')).toMatchObject({ kind: 'reranker', available: true });
  });

  it('a model of the settings is served by it, and one whose model is not installed answers 502', async () => {
    const mapped = await embed('a ferry', { model: 'my-org/mapped' });
    const own = await embed('a ferry');
    expect(mapped.body.data[0].embedding).toEqual(own.body.data[0].embedding);
    const absent = await embed('a ferry', { model: 'my-org/absent' });
    expect(absent.status).toBe(502);
    expect(absent.body.error.message).toContain('local/absent');
  });

  it('its memory is in the metrics', async () => {
    await embed('anything');
    const { body } = await api.call('GET', '/metrics');
    const line = /service_local_model_memory_bytes\{model="local\/small"\} (\d+)/.exec(body);
    expect(Number(line?.[1])).toBeGreaterThan(10_000_000);
  });

  it('documents are found by it, and a local reranker orders them', async () => {
    await api.appliance.embedding.routing.set(api.operator, { primary: MODEL, fallback: undefined, mode: 'single' });
    const documents = shortTexts.slice(0, 8).map((text, at) => ({ id: `d${at}`, fileName: `d${at}.txt`, text }));
    const { idOf } = await ingestAll(api.appliance, api.operator, 'default', documents);
    const search = { query: documents[3]?.text, mode: 'vector', top_k: 5 };
    const found = await api.call('POST', '/v2/buckets/default/search', { key, json: search });
    expect(idOf.get(found.body.results[0].document_id)).toBe('d3');
    const reranked = await api.call('POST', '/v2/buckets/default/search', { key, json: { ...search, rerank: true } });
    expect(reranked.body.warnings ?? []).toEqual([]);
    for (const result of reranked.body.results) expect(result.scores.rerank_score).toBeGreaterThan(0);
  });
});

describe('a model process that dies', () => {
  it('kill -9 during 100 requests: each is answered 200 or 503 with Retry-After, and later ones are answered', async () => {
    await embed('loaded');
    const requests = Array.from({ length: 100 }, (_, at) => embed(`request ${at} of a hundred`));
    process.kill(pidOf(MODEL) as number, 'SIGKILL');
    const answers = await Promise.all(requests);
    for (const { status, headers } of answers) {
      expect([200, 503]).toContain(status);
      if (status === 503) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    await until(async () => (await embed('after the death')).status === 200, { withinMs: WITHIN_MS, everyMs: 200 });
  });

  it(
    'kill -9 while vectors are made: no document is lost or doubled',
    async () => {
      await createBucket(api.appliance.sql, api.operator, CreateBucket.parse({ name: 'kills' }));
      const documents = shortTexts
        .slice(8, 68)
        .map((text, at) => ({ id: `k${at}`, fileName: `k${at}.txt`, text: `${text} ${at}` }));
      let kills = 0;
      const stop = new AbortController();
      const killer = until(
        async () => {
          const pid = pidOf(MODEL);
          const { textsQueued = 0 } = api.appliance.localModels.states().find(({ name }) => name === MODEL) ?? {};
          if (pid !== null && textsQueued > 0) {
            process.kill(pid, 'SIGKILL');
            kills++;
          }
          return kills >= 3 || stop.signal.aborted;
        },
        { withinMs: 10 * WITHIN_MS, everyMs: 5 },
      );
      const ids = new Set<string>();
      for (const { fileName, text } of documents) {
        const content = { bytes: Buffer.from(text), fileName, contentType: null };
        const request = UploadRequest.parse({ on_duplicate: 'allow' });
        ids.add((await uploadDocument(api.appliance.ingest.uploads, api.operator, 'kills', content, request)).id);
      }
      const ready = async () => {
        const rows = await api.appliance.sql`
        SELECT 1 FROM documents d JOIN buckets b ON b.id = d.bucket_id
        WHERE b.name = 'kills' AND d.status = 'ready' AND NOT d.keyword_only`;
        return rows.length === documents.length;
      };
      await until(ready, { withinMs: 10 * WITHIN_MS, everyMs: 100 }).finally(() => stop.abort());
      await killer;
      expect(kills).toBeGreaterThan(0);
      const rows = await api.appliance.sql<{ id: string; chunks: number }[]>`
      SELECT d.id, d.chunks_count AS chunks FROM documents d JOIN buckets b ON b.id = d.bucket_id WHERE b.name = 'kills'`;
      expect(new Set(rows.map(({ id }) => id))).toEqual(ids);
      const found = await api.call('POST', '/v2/buckets/kills/search', {
        key,
        json: { query: 'search', mode: 'vector', top_k: 100 },
      });
      const chunks = found.body.results.map((result: { id: string }) => result.id);
      expect(new Set(chunks).size).toBe(chunks.length);
    },
    20 * WITHIN_MS,
  );
});
