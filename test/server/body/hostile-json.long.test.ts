import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { apiRoutes } from '../../../server/api-service.ts';
import { checkJsonShape, JsonShape } from '../../../server/body/check-json-shape.ts';
import type { Appliance } from '../../../src/appliance/appliance.ts';
import { createTestRandom } from '../../support/random.ts';

const MIB = 1024 * 1024;
const SERVER = fileURLToPath(new URL('../../support/upload-server-child.ts', import.meta.url));

/** Start the routes of documents in a process with a heap of 128 MiB. */
async function startSmallServer(): Promise<string> {
  const child = spawn(process.execPath, ['--max-old-space-size=128', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const [port] = await once(createInterface({ input: child.stdout }), 'line');
  return `http://127.0.0.1:${port}/v1/buckets/b/documents`;
}

function post(url: string, body: Buffer): Promise<Response> {
  return fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
}

/** Build a body of almost `bytes` bytes by repetition. */
function filled(begin: string, unit: string, end: string, bytes: number): Buffer {
  const fill = Buffer.alloc(bytes - begin.length - end.length - (bytes % 7), unit);
  return Buffer.concat([
    Buffer.from(begin),
    fill.subarray(0, fill.length - (fill.length % unit.length)),
    Buffer.from(end),
  ]);
}

test('a JSON upload of 64 MB of tiny objects is refused without being parsed, in a heap of 128 MiB', async () => {
  const url = await startSmallServer();
  for (const [begin, unit, end] of [
    ['{"filename":"a","x":[', '{},', '{}]}'],
    ['{"filename":"a","metadata":{"a":[', '[[]],', '1]}}'],
    ['{"filename":"a","text":["', 'a","', '"]}'],
  ] as const) {
    const response = await post(url, filled(begin, unit, end, 64 * MIB));
    expect([response.status, await response.json()]).toEqual([
      400,
      { detail: 'the body holds more than 10000 values' },
    ]);
  }
  const deep = await post(url, filled('{"x":', '[', '', 64 * MIB));
  expect([deep.status, await deep.json()]).toEqual([400, { detail: 'the body is nested deeper than 64 levels' }]);
  expect((await post(url, Buffer.from('{"text":"a"}'))).status).toBe(400);
});

test('depth and values of random JSON are counted over its bytes as in the parsed value', () => {
  const random = createTestRandom('shapes of JSON');
  const draw = (depth: number): unknown => {
    const kind = random.int(depth > 4 ? 4 : 6);
    const size = random.int(4);
    if (kind === 4) return Array.from({ length: size }, () => draw(depth + 1));
    if (kind === 5) return Object.fromEntries(Array.from({ length: size }, (_, i) => [`k"\\${i}`, draw(depth + 1)]));
    return [7, 'a,"[{\\', true, null][kind];
  };
  const sizeOf = (value: unknown): number => {
    if (typeof value !== 'object' || value === null) return 0;
    const inner = Object.values(value);
    return inner.reduce<number>((sum, item) => sum + sizeOf(item), inner.length);
  };
  for (let i = 0; i < 500; i++) {
    const value = { root: draw(0) };
    const bytes = Buffer.from(JSON.stringify(value, null, random.int(2) * 2));
    const size = sizeOf(value);
    expect(() => checkJsonShape(bytes, size)).not.toThrow();
    expect(() => checkJsonShape(bytes, size - 1)).toThrow(`more than ${size - 1} values`);
    const inParts = (valuesMax: number) => () => {
      const shape = new JsonShape(valuesMax);
      for (let from = 0; from < bytes.length; ) {
        const end = from + 1 + random.int(4);
        shape.add(bytes.subarray(from, end));
        from = end;
      }
    };
    expect(inParts(size)).not.toThrow();
    expect(inParts(size - 1)).toThrow(`more than ${size - 1} values`);
  }
});

test('only bodies with texts, images, a file, a delivery or members may have more than 256 kB of JSON', () => {
  const nothing: object = new Proxy(() => nothing, { get: () => nothing });
  const limits = { bodyBytes: 16 * MIB, bulkBodyBytes: 64 * MIB, imageBodyBytes: 280 * MIB };
  const config = {
    limits,
    embeddings: {},
    projections: { autoCalibration: {} },
    console: { name: null, logo: null },
    search: {},
  };
  const appliance = new Proxy({}, { get: (_, name) => (name === 'config' ? config : nothing) }) as Appliance;
  const large = apiRoutes(appliance, () => undefined)
    .filter(({ reads, bodyLimitBytes = Number.POSITIVE_INFINITY }) => reads !== 'none' && bodyLimitBytes > 256 * 1024)
    .map(({ operationId }) => operationId);
  expect(large.sort()).toEqual([
    ...[
      'answerKakaoSkill',
      'answerLineWebhook',
      'answerQuestion',
      'answerSlackEvent',
      'answerTeamsMessage',
      'answerTelegramUpdate',
      'createChatCompletion',
      'createEmbeddings',
      'createFile',
      'createScimGroup',
      'createVectorStoreFileBatch',
      'embedBatch',
      'embedImages',
      'importVectors',
      'patchScimGroup',
      'receiveDelivery',
      'receiveDeliveryOfChannel',
      'rehearseSwitch',
      'replaceScimGroup',
      'rerank',
      'rerankV2',
      'searchVectorStore',
      'submitBulkJob',
      'uploadDocument',
    ],
  ]);
});
