import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { InstallRequest } from '../../src/local-models/install/install-model.ts';
import { openSource } from '../../src/local-models/install/open-source.ts';
import { modelsFolder } from '../../src/local-models/model-folders.ts';
import { Secret } from '../../src/platform/secret.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { FakeHub, type HubFiles } from '../support/fake-hub.ts';
import { DIMENSION, FIXTURES, install } from '../support/local-models.ts';

const ONNX = 'onnx/model.onnx';
const FILES = [
  'config.json',
  'tokenizer.json',
  'modules.json',
  '1_Pooling/config.json',
  'sentence_bert_config.json',
  'config_sentence_transformers.json',
  ONNX,
];
const never = new AbortController().signal;

let test: TestAppliance;
let hub: FakeHub;
const served: HubFiles = Object.fromEntries(
  FILES.map((file) => [file, readFileSync(path.join(FIXTURES, 'bert', file))]),
);
const onnx = served[ONNX] as Buffer;

beforeAll(async () => {
  test = await openTestAppliance();
  hub = await FakeHub.start({
    ...served,
    'pytorch_model.bin': Buffer.from('a pickle'),
    'README.md': Buffer.from('read'),
  });
});
afterAll(async () => {
  await hub.close();
  await test.close();
});
beforeEach(() => {
  Object.assign(hub, { fault: () => false, status: null, token: null, tree: null });
  hub.requests.length = 0;
});

async function installFromHub(more: Partial<InstallRequest> = {}, token: string | null = null, signal = never) {
  const settings = {
    ...test.appliance.config.localModels,
    hubUrl: hub.url,
    hubToken: token === null ? null : new Secret(token),
  };
  const source = await openSource('org/model', { settings, revision: undefined, dataDir: test.dataDir, signal });
  return install(test.appliance, source, { name: 'local/from-hub', signal, ...more });
}

/** Folders in the folder of models that are being filled. */
function incoming(): string[] {
  const folder = modelsFolder(test.dataDir);
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith('.')) : [];
}

describe('installing a model from a hub', () => {
  it('only the files that are needed are fetched, and the model runs', async () => {
    const { spec } = await installFromHub();
    expect(spec).toMatchObject({ dimension: DIMENSION, source: `org/model@${'c'.repeat(12)}` });
    expect(hub.requests.map((request) => request.path).toSorted()).toEqual(FILES.toSorted());
    expect(incoming()).toEqual([]);
  });

  it('a download that breaks off is continued where it ended, and the token is sent', async () => {
    hub.token = 'hub-secret';
    const others = Object.values(served).reduce((sum, { length }) => sum + length, 0) - onnx.length;
    let breaks = 0;
    let breaking: { response: ServerResponse; from: number } | null = null;
    hub.fault = (file, request, response) => {
      if (file !== ONNX || breaks >= 2) return false;
      const from = Number(/\d+/.exec(request.headers.range ?? '')?.[0] ?? 0);
      response.writeHead(from > 0 ? 206 : 200, { 'content-length': onnx.length - from });
      response.write(onnx.subarray(from, from + 50_000));
      breaking = { response, from };
      breaks++;
      return true;
    };
    // The connection ends once some of the file is written, since what is still on its way may be lost with it.
    const onProgress: InstallRequest['onProgress'] = ({ doneBytes }) => {
      if (breaking === null || doneBytes <= others + breaking.from) return;
      breaking.response.socket?.end();
      breaking = null;
    };
    await installFromHub({ name: 'local/continued', onProgress }, 'hub-secret');
    const ranges = hub.requests.filter((request) => request.path === ONNX).map(({ range }) => range);
    expect(ranges).toHaveLength(3);
    expect(ranges[0]).toBeUndefined();
    for (const range of ranges.slice(1)) expect(range).toMatch(/^bytes=[1-9]\d+-$/);
    expect(hub.requests.every(({ token }) => token === 'Bearer hub-secret')).toBe(true);
  });

  it('a download that is interrupted is kept, and the next installation continues it', async () => {
    const abort = new AbortController();
    hub.fault = (file, _request, response) => {
      if (file !== ONNX) return false;
      response.writeHead(200, { 'content-length': onnx.length });
      response.write(onnx.subarray(0, 60_000));
      return true;
    };
    let reached = 0;
    const onProgress: InstallRequest['onProgress'] = ({ doneBytes }) => {
      reached = Math.max(reached, doneBytes);
      if (
        doneBytes >
        60_000 + Object.values(served).reduce((sum, { length }) => sum + length, 0) - onnx.length - 1_000
      ) {
        abort.abort(new Error('interrupted'));
      }
    };
    await expect(installFromHub({ name: 'local/kept', onProgress }, null, abort.signal)).rejects.toThrow('interrupted');
    expect(incoming()).toHaveLength(1);
    hub.fault = () => false;
    hub.requests.length = 0;
    await installFromHub({ name: 'local/kept' });
    expect(hub.requests.map((request) => request.path)).toEqual([ONNX]);
    expect(hub.requests[0]?.range).toMatch(/^bytes=[1-9]\d+-$/);
    expect(incoming()).toEqual([]);
  });
});

/** Entry of a list of files that no honest hub sends. */
const entry = (name: string, more: object = {}) => ({
  type: 'file',
  path: name,
  oid: '0'.repeat(40),
  size: 10,
  ...more,
});

describe('a hub that fails or lies', () => {
  const refusals: [title: string, code: string, spoil: () => void][] = [
    ['401', 'hub_refused', () => Object.assign(hub, { status: 401 })],
    ['403', 'hub_refused', () => Object.assign(hub, { status: 403 })],
    ['404', 'hub_model_not_found', () => Object.assign(hub, { status: 404 })],
    ['418', 'hub_answer_invalid', () => Object.assign(hub, { status: 418 })],
    [
      'a path out of the folder',
      'model_source_unsafe',
      () => Object.assign(hub, { tree: [...hub.list(), entry('../../evil.json')] }),
    ],
    [
      'an absolute path',
      'model_source_unsafe',
      () => Object.assign(hub, { tree: [...hub.list(), entry('/etc/passwd')] }),
    ],
    [
      'a link',
      'model_source_unsafe',
      () => Object.assign(hub, { tree: [...hub.list(), { ...entry('config.json'), type: 'symlink' }] }),
    ],
    [
      'a tokenizer of 10 GB',
      'model_source_unsafe',
      () =>
        Object.assign(hub, {
          tree: hub.list().map((each) => (each.path === 'tokenizer.json' ? { ...each, size: 10e9 } : each)),
        }),
    ],
    ['a list that is none', 'model_source_unsafe', () => Object.assign(hub, { tree: [{ path: 7 }] })],
    [
      'a model of pickle files only',
      'model_invalid',
      () => Object.assign(hub, { tree: [entry('pytorch_model.bin'), entry('config.json')] }),
    ],
    [
      'more bytes than the disk has',
      'storage_full',
      () =>
        Object.assign(hub, {
          tree: hub
            .list()
            .map((each) => (each.path === ONNX ? { ...each, lfs: { oid: '0'.repeat(64), size: 1e12 } } : each)),
        }),
    ],
    [
      'other bytes than it names',
      'hub_checksum_mismatch',
      () =>
        (hub.fault = (file, _request, response) => file === ONNX && Boolean(response.end(Buffer.alloc(onnx.length)))),
    ],
    [
      'other bytes in a small file',
      'hub_checksum_mismatch',
      () =>
        (hub.fault = (file, _request, response) =>
          file === 'modules.json' &&
          Boolean(response.end(Buffer.alloc((served['modules.json'] as Buffer).length, 32)))),
    ],
    [
      'more bytes than it names',
      'hub_checksum_mismatch',
      () =>
        (hub.fault = (file, _request, response) =>
          file === ONNX && Boolean(response.end(Buffer.alloc(onnx.length + 1)))),
    ],
    [
      'a redirect to another scheme',
      'hub_answer_invalid',
      () =>
        (hub.fault = (_file, _request, response) =>
          Boolean(response.writeHead(302, { location: 'file:///etc/passwd' }).end())),
    ],
    [
      'endless redirects',
      'hub_answer_invalid',
      () =>
        (hub.fault = (_file, request, response) =>
          Boolean(response.writeHead(302, { location: request.url ?? '' }).end())),
    ],
  ];

  it.each(refusals)('%s is a typed error, and nothing is left', async (_title, code, spoil) => {
    spoil();
    await expect(installFromHub({ name: 'local/bad' })).rejects.toMatchObject({ code });
    expect(incoming()).toEqual([]);
    expect(existsSync(path.join(modelsFolder(test.dataDir), 'bad'))).toBe(false);
    expect(test.appliance.localModels.list().some(({ spec }) => spec.name === 'local/bad')).toBe(false);
  });

  it('a hub that is down is a typed error that says to run the command again', async () => {
    hub.status = 503;
    await expect(installFromHub()).rejects.toMatchObject({ code: 'hub_unavailable', status: 503 });
  }, 120_000);

  it('a redirect to another server does not carry the token', async () => {
    const other = await FakeHub.start(served);
    try {
      hub.token = 'hub-secret';
      hub.fault = (file, request, response) =>
        file === ONNX && Boolean(response.writeHead(302, { location: other.url + request.url }).end());
      await installFromHub({ name: 'local/redirected' }, 'hub-secret');
      expect(other.requests).toEqual([{ path: ONNX, range: undefined, token: undefined }]);
    } finally {
      await other.close();
    }
  });
});
