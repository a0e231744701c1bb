import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { embedLexicalPassages } from '../../src/embedding/providers/local.ts';
import type { ChunkReader, IndexedGeneration, TableVersion } from '../../src/index/chunk-index.ts';
import { loadMilvus } from '../../src/index/milvus/load-milvus.ts';
import { MilvusIndex } from '../../src/index/milvus/milvus-index.ts';
import { analyse, weighTerms } from '../../src/language/analyser.ts';
import { loadConfig } from '../../src/platform/config.ts';
import type { MilvusSettings } from '../../src/platform/storage-settings.ts';
import { TEST_CA } from '../support/certificates.ts';
import { startTlsProxy, startVersionServer } from '../support/fake-milvus.ts';
import { milvusAvailable, startMilvus, type TestMilvus } from '../support/milvus.ts';

const INSTALLATION = 'org_own';
const SETTINGS: MilvusSettings = { url: 'http://127.0.0.1:1', token: null, database: 'default', caFile: null };
const UNAVAILABLE = { code: 'index_unavailable', status: 503, retryAfterSeconds: expect.any(Number) };

function generation(id: number, text: string): IndexedGeneration {
  const documentId = `doc_${id}`;
  return {
    vectors: embedLexicalPassages([text]),
    chunks: [
      {
        ...{ chunkId: `${documentId}_${id}_0`, documentId, generation: id, collectionId: null, chunkIndex: 0, text },
        ...{ tokens: analyse(text).join(' '), locator: { page: 1, heading_path: [], start: 0, end: text.length } },
        ...{ modality: 'text', privacyLevel: 1, eventTimeMs: null },
      },
    ],
  };
}

async function find(index: MilvusIndex, table: TableVersion, query: string): Promise<string[]> {
  const reader = (await index.open([table])) as ChunkReader;
  const found = await reader.searchKeywords(weighTerms(analyse(query)), { limit: 10, documentIds: null });
  return found.map(({ documentId }) => documentId).sort();
}

test('a Milvus that does not answer is unavailable, and is asked again at the next request', async () => {
  const index = new MilvusIndex(SETTINGS, INSTALLATION);
  for (let time = 0; time < 2; time++) {
    await expect(index.probe()).rejects.toMatchObject(UNAVAILABLE);
    await expect(index.append('bkt_1_milvus', [generation(1, 'heron')])).rejects.toMatchObject(UNAVAILABLE);
  }
  await index.close();
});

test.each(['v2.4.23', '1.1.1', 'milvus_lite-2.5.1', 'something else'])(
  'the version %s is refused with a sentence that names it',
  async (version) => {
    const server = await startVersionServer(version);
    const index = new MilvusIndex({ ...SETTINGS, url: `http://127.0.0.1:${server.port}` }, INSTALLATION);
    try {
      const message = expect.stringContaining(version);
      await expect(index.probe()).rejects.toMatchObject({ code: 'index_engine_unsupported', message });
    } finally {
      await index.close();
      await server.close();
    }
  },
);

test.each(['v2.5.0', '2.6.11', 'v3.0.2', '2.6-20260101-ab12cd'])('the version %s is accepted', async (version) => {
  const server = await startVersionServer(version);
  const index = new MilvusIndex({ ...SETTINGS, url: `http://127.0.0.1:${server.port}` }, INSTALLATION);
  try {
    await index.probe();
  } finally {
    await index.close();
    await server.close();
  }
});

test('the token of Milvus cannot be printed, and an address holds no credentials', () => {
  const load = (milvus: object) => loadConfig({ env: {}, overrides: { data_dir: '/nowhere', index: { milvus } } });
  const config = load({ url: 'https://milvus.example:19530/', token: 'root:secret-word' });
  expect(config.index.milvus?.token?.reveal()).toBe('root:secret-word');
  for (const text of [inspect(config.index), JSON.stringify(config.index)]) expect(text).not.toContain('secret-word');
  for (const url of ['https://root:secret@milvus.example', 'milvus.example:19530', 'https://milvus.example/path'])
    expect(() => load({ url })).toThrow('index.milvus.url');
});

describe.skipIf(!milvusAvailable())('with a server', () => {
  let milvus: TestMilvus;
  let index: MilvusIndex;
  beforeAll(async () => {
    milvus = await startMilvus();
    index = new MilvusIndex(milvus.settings, INSTALLATION);
  });
  afterAll(async () => {
    await index?.close();
    await milvus?.drop();
  });

  test('a collection whose creation ended half-way is completed by the next write', async () => {
    const name = 'bkt_half_milvus';
    const collection = `${INSTALLATION}_${name}`;
    await index.version(name);
    const client = new (loadMilvus().MilvusClient)({
      address: milvus.settings.url,
      logLevel: 'error',
      telemetry: { enabled: false },
    });
    await client.connectPromise;
    await client.releaseCollection({ collection_name: collection });
    await client.dropIndex({ collection_name: collection, field_name: 'vector' });
    await client.closeConnection();
    const other = new MilvusIndex(milvus.settings, INSTALLATION);
    const table = await other.append(name, [generation(1, 'a heron')]);
    expect(await find(other, table, 'heron')).toEqual(['doc_1']);
    const reader = (await other.open([table])) as ChunkReader;
    const vector = embedLexicalPassages(['a heron']);
    expect(await reader.searchVectors(vector, { limit: 5, documentIds: null })).toHaveLength(1);
    await other.close();
  });

  test('installations that share a server neither see nor drop the collections of each other', async () => {
    const name = 'bkt_moved';
    const table = await index.append(name, [generation(1, 'a heron')]);
    const other = new MilvusIndex(milvus.settings, 'org_other');
    expect(await other.open([table])).toBeNull();
    await other.append(name, [generation(2, 'a stork')]);
    await other.dropAll(name);
    expect(await find(index, table, 'heron')).toEqual(['doc_1']);
    expect(await other.open([table])).toBeNull();
    await other.close();
  });

  test('a write that is repeated after a lost answer stores its chunks once', async () => {
    const name = 'bkt_again_milvus';
    await index.append(name, [generation(1, 'a heron')]);
    const table = await index.append(name, [generation(1, 'a heron')]);
    expect(await find(index, table, 'heron')).toEqual(['doc_1']);
    expect(await index.statistics(table)).toMatchObject({ rows: 1 });
  });

  test('what was written is found after the server was killed', async () => {
    const name = 'bkt_killed_milvus';
    const table = await index.append(name, [generation(1, 'a heron'), generation(2, 'a stork and a heron')]);
    await milvus.kill();
    await expect(find(index, table, 'heron')).rejects.toMatchObject(UNAVAILABLE);
    await milvus.start();
    await expect
      .poll(() => find(index, table, 'heron').catch(() => []), { timeout: 20_000 })
      .toEqual(['doc_1', 'doc_2']);
    expect(await index.version(name)).toBe(table.version);
  }, 60_000);

  test('long texts, long locators and texts of several scripts are read as they were written', async () => {
    const name = 'bkt_long_milvus';
    const text = `왜가리 𝒳 heron ${'긴 '.repeat(70_000)}`;
    const made = generation(1, 'heron');
    const long = { ...made, chunks: made.chunks.map((chunk) => ({ ...chunk, text, tokens: 'heron' })) };
    const table = await index.append(name, [long]);
    const reader = (await index.open([table])) as ChunkReader;
    const found = await reader.searchKeywords(weighTerms(['heron']), { limit: 1, documentIds: null });
    const [passage] = await reader.readPassages(found);
    expect(passage?.text === text).toBe(true);
  });

  test('a server behind TLS is trusted by a file of authorities only', async () => {
    const proxy = await startTlsProxy(Number(new URL(milvus.settings.url).port));
    const url = `https://localhost:${proxy.port}`;
    const trusting = new MilvusIndex({ ...milvus.settings, url, caFile: TEST_CA }, INSTALLATION);
    await trusting.probe();
    await trusting.close();
    const doubting = new MilvusIndex({ ...milvus.settings, url }, INSTALLATION);
    await expect(doubting.probe()).rejects.toMatchObject(UNAVAILABLE);
    await doubting.close();
    await proxy.close();
  }, 30_000);
});
