import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { InstallRequest } from '../../src/local-models/install/install-model.ts';
import { chooseName } from '../../src/local-models/install/open-source.ts';
import { modelsFolder } from '../../src/local-models/model-folders.ts';
import { removeModel } from '../../src/local-models/remove-model.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { copyModel, DIMENSION, install, TOKENS_MAX } from '../support/local-models.ts';

let test: TestAppliance;
beforeAll(async () => {
  test = await openTestAppliance();
});
afterAll(() => test.close());

/** Folders in the folder of models, those that are being filled included. */
function modelFolders(): string[] {
  const folder = modelsFolder(test.dataDir);
  return existsSync(folder) ? readdirSync(folder) : [];
}

function rewrite(folder: string, file: string, change: (content: Record<string, unknown>) => unknown): void {
  const target = path.join(folder, file);
  writeFileSync(target, JSON.stringify(change(JSON.parse(readFileSync(target, 'utf8')))));
}

describe('installing a model from a folder', () => {
  it('dimension, length, pooling and prompts are read from what sentence-transformers wrote', async () => {
    const { spec, isUpdate } = await install(test.appliance, 'bert');
    expect(isUpdate).toBe(false);
    expect(spec).toMatchObject({
      ...{ name: 'local/small', kind: 'embedding', dimension: DIMENSION, maxTokens: TOKENS_MAX, pooling: 'mean' },
      prefixes: { retrieval_query: 'query: ', retrieval_document: 'passage: ', factcheck: 'query: ' },
    });
    expect(test.appliance.embedding.backends.catalog.find('local/small')).toMatchObject({
      ...{ vendor: 'local', kind: 'semantic', defaultDimension: DIMENSION, maxTokens: TOKENS_MAX },
    });
  });

  // https://huggingface.co/docs/hub/model-cards
  it.each([
    ['---\nlicense: apache-2.0\nlanguage: en\n---\n# A model', 'apache-2.0'],
    ['---\nlicense: [\n---\n', null],
    ['# A card without metadata', null],
  ])('the licence is that of the model card in the folder: %j', async (card, licence) => {
    const folder = copyModel('bert', (copy) => writeFileSync(path.join(copy, 'README.md'), card));
    expect((await install(test.appliance, folder, { name: 'local/licensed' })).spec.licence).toBe(licence);
  });

  it('a decoder is pooled by its last token', async () => {
    const { spec } = await install(test.appliance, 'decoder', { name: 'local/decoder' });
    expect(spec).toMatchObject({ pooling: 'last', dimension: DIMENSION });
    expect(spec.prefixes).toMatchObject({ retrieval_query: 'Instruct: find\nQuery:' });
    expect(spec.prefixes).not.toHaveProperty('retrieval_document');
  });

  it('installing the same model again changes nothing, and another variant of it replaces it', async () => {
    const first = await install(test.appliance, 'bert', { name: 'local/again' });
    const second = await install(test.appliance, 'bert', { name: 'local/again' });
    expect(second).toEqual({ ...first, isUpdate: false });
    const third = await install(test.appliance, 'bert', { name: 'local/again', variant: 'int8' });
    expect(third.isUpdate).toBe(true);
    expect(readdirSync(path.join(modelsFolder(test.dataDir), 'again'))).toEqual([third.revision]);
  });

  it('a removed model is gone from the catalog and from the disk', async () => {
    await install(test.appliance, 'bert', { name: 'local/removed' });
    await removeModel(test.appliance, { name: 'local/removed', actor: 'operator:test' }, new AbortController().signal);
    await test.appliance.localModels.refresh();
    expect(modelFolders()).not.toContain('removed');
    expect(test.appliance.embedding.backends.catalog.get('local/removed')).toBeUndefined();
    await expect(
      removeModel(test.appliance, { name: 'local/removed', actor: 'operator:test' }, new AbortController().signal),
    ).rejects.toMatchObject({
      code: 'model_not_found',
    });
  });

  it('the name of a model is made of its source, and the built-in one is reserved', () => {
    expect(chooseName('BAAI/bge-m3', undefined)).toBe('local/bge-m3');
    expect(chooseName('./Some Model.tar.gz', undefined)).toBe('local/some-model');
    expect(chooseName('x/y', 'local/mine')).toBe('local/mine');
    expect(() => chooseName('x/y', 'mine')).toThrow(/--as: mine must be local\/NAME/);
    expect(() => chooseName('x/lexical-1', undefined)).toThrow(/local\/lexical-1 is built in/);
    expect(() => chooseName('x/semantic-1', undefined)).toThrow(/local\/semantic-1 is built in/);
  });
});

/** Faults of sources: the model, the change that spoils it, the code of the error, and options of the installation. */
const FAULTS: [title: string, code: string, spoil: (folder: string) => void, more?: Partial<InstallRequest>][] = [
  ['a folder without a config.json', 'model_invalid', (folder) => rmSync(path.join(folder, 'config.json'))],
  [
    'a folder without a tokenizer.json',
    'model_tokenizer_missing',
    (folder) => rmSync(path.join(folder, 'tokenizer.json')),
  ],
  [
    'a folder without a model in ONNX',
    'model_invalid',
    (folder) => rmSync(path.join(folder, 'onnx'), { recursive: true }),
  ],
  [
    'a model that is not ONNX',
    'model_invalid',
    (folder) => writeFileSync(path.join(folder, 'onnx/model.onnx'), 'PK no model'),
  ],
  [
    'a model that is cut off',
    'model_invalid',
    (folder) =>
      writeFileSync(
        path.join(folder, 'onnx/model.onnx'),
        readFileSync(path.join(folder, 'onnx/model.onnx')).subarray(0, 100_000),
      ),
  ],
  ['an opset that the runtime does not know', 'model_unusable', (folder) => setOpset(folder, 99)],
  [
    'a tokenizer.json that is not one',
    'model_unusable',
    (folder) => writeFileSync(path.join(folder, 'tokenizer.json'), '{"model":{}}'),
  ],
  [
    'a file of settings that is not JSON',
    'model_invalid',
    (folder) => writeFileSync(path.join(folder, 'modules.json'), '['),
  ],
  ['a variant that is not there', 'model_variant_missing', () => {}, { variant: 'fp16' }],
  [
    'an int8 variant without one',
    'model_variant_missing',
    (folder) => rmSync(path.join(folder, 'onnx/model_int8.onnx')),
    { variant: 'int8' },
  ],
  ['no pooling', 'model_setting_missing', (folder) => rmSync(path.join(folder, 'modules.json'))],
  [
    'a pooling that is not supported',
    'model_invalid',
    (folder) => rewrite(folder, '1_Pooling/config.json', () => ({ pooling_mode_max_tokens: true })),
  ],
  [
    'a module that the ONNX file does not hold',
    'model_invalid',
    (folder) =>
      writeFileSync(
        path.join(folder, 'modules.json'),
        '[{"path":"2_Dense","type":"sentence_transformers.models.Dense"}]',
      ),
  ],
  [
    'no word about prompts',
    'model_setting_missing',
    (folder) => rmSync(path.join(folder, 'config_sentence_transformers.json')),
  ],
  [
    'no maximum length',
    'model_setting_missing',
    (folder) => {
      rmSync(path.join(folder, 'sentence_bert_config.json'));
      rewrite(folder, 'config.json', () => ({}));
    },
  ],
  ['more tokens than positions', 'model_invalid', () => {}, { maxTokens: 4096 }],
  ['an embedding model as a reranker', 'model_invalid', () => {}, { kind: 'reranker' }],
];

/** Change the version of the operators in a model: the field 8 of the last bytes, `42 02 10 <version>`. */
function setOpset(folder: string, version: number): void {
  const file = path.join(folder, 'onnx/model.onnx');
  const bytes = readFileSync(file);
  const at = bytes.lastIndexOf(Buffer.from([0x10, 17]));
  bytes[at + 1] = version;
  writeFileSync(file, bytes);
}

describe('installing a folder that is no usable model', () => {
  it.each(FAULTS)('%s is refused and leaves nothing', async (_title, code, spoil, more = {}) => {
    const before = modelFolders();
    await expect(
      install(test.appliance, copyModel('bert', spoil), { name: 'local/bad', ...more }),
    ).rejects.toMatchObject({ code });
    expect(modelFolders()).toEqual(before);
  });

  it('a model of another dimension is refused under an installed name', async () => {
    await install(test.appliance, 'bert', { name: 'local/taken' });
    const reranker = install(test.appliance, 'reranker', { name: 'local/taken', kind: 'reranker' });
    await expect(reranker).rejects.toMatchObject({ code: 'model_dimension_differs', status: 409 });
    expect(test.appliance.localModels.list().find(({ spec }) => spec.name === 'local/taken')?.spec.kind).toBe(
      'embedding',
    );
  });

  it('what the folder does not say is said by flags', async () => {
    const folder = copyModel('bert', (each) => {
      rmSync(path.join(each, 'modules.json'));
      rmSync(path.join(each, 'config_sentence_transformers.json'));
    });
    const { spec } = await install(test.appliance, folder, {
      name: 'local/said',
      pooling: 'cls',
      prompts: 'e5',
      maxTokens: 32,
    });
    expect(spec).toMatchObject({ pooling: 'cls', maxTokens: 32, prefixes: { retrieval_document: 'passage: ' } });
  });

  it('a reranker is not installed as an embedding model', async () => {
    const installed = install(test.appliance, 'reranker', { name: 'local/wrong', prompts: 'none' });
    await expect(installed).rejects.toMatchObject({
      code: 'model_invalid',
      message: expect.stringContaining('--reranker'),
    });
  });
});
