import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSource } from '../../src/local-models/install/open-source.ts';
import { modelsFolder } from '../../src/local-models/model-folders.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { FakeHub } from '../support/fake-hub.ts';
import {
  copyVariants,
  DIMENSION,
  install,
  lowestCosine,
  referenceTexts,
  referenceVectors,
} from '../support/local-models.ts';

const MODEL = 'onnx/model.onnx';
const WEIGHTS = 'onnx/model.onnx_data';
const LOCATION = 'model.onnx_data';
const ROWS = Array.from({ length: 50 }, (_, nth) => 100 + nth * 17);
const never = new AbortController().signal;

let test: TestAppliance;
beforeAll(async () => {
  test = await openTestAppliance();
});
afterAll(() => test.close());

/** Lowest cosine between the vectors of an installed model and those of the model in fp32 by Python. */
async function compare(name: string): Promise<number> {
  const all = referenceTexts();
  const texts = ROWS.map((row) => all[row] as string);
  const vectors = await test.appliance.localModels.embed(name, texts, { isBackground: false }, never);
  const reference = referenceVectors('bert');
  const wanted = Float32Array.from(
    ROWS.flatMap((row) => [...reference.subarray(row * DIMENSION, (row + 1) * DIMENSION)]),
  );
  return lowestCosine(vectors, wanted, [...ROWS.keys()]);
}

/** Name another file of weights in a model; the name must be as long as the first one. */
function rename(folder: string, location: string): void {
  expect(location).toHaveLength(LOCATION.length);
  const file = path.join(folder, MODEL);
  const bytes = readFileSync(file);
  for (let at = bytes.indexOf(LOCATION); at >= 0; at = bytes.indexOf(LOCATION, at + 1)) bytes.write(location, at);
  writeFileSync(file, bytes);
}

describe('a model with its weights in a file beside it', () => {
  it("is installed with that file and has the vectors of Python's onnxruntime", async () => {
    const { spec } = await install(test.appliance, copyVariants(), { name: 'local/external' });
    expect(spec.files.map((file) => file.path)).toEqual(expect.arrayContaining([MODEL, WEIGHTS]));
    expect(await compare('local/external')).toBeGreaterThan(0.99999);
  });

  it('is installed from a hub with that file', async () => {
    const folder = copyVariants();
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const paths = files.map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
    const hub = await FakeHub.start(
      Object.fromEntries(paths.map((file) => [file, readFileSync(path.join(folder, file))])),
    );
    try {
      const settings = { ...test.appliance.config.localModels, hubUrl: hub.url, hubToken: null };
      const { dataDir } = test;
      const source = await openSource('org/model', { settings, revision: undefined, dataDir, signal: never });
      await install(test.appliance, source, { name: 'local/from-hub' });
    } finally {
      await hub.close();
    }
    const fetched = hub.requests.map((request) => request.path);
    expect(fetched).toContain(WEIGHTS);
    expect(fetched.filter((file) => file.startsWith('onnx/')).toSorted()).toEqual([MODEL, WEIGHTS]);
    expect(await compare('local/from-hub')).toBeGreaterThan(0.99999);
  });

  it('may have several of them, as exports of large models do', async () => {
    const folder = copyVariants((each) => {
      rename(each, 'mod.onnx_data_1');
      renameSync(path.join(each, WEIGHTS), path.join(each, 'onnx/mod.onnx_data_1'));
    });
    const { spec } = await install(test.appliance, folder, { name: 'local/several' });
    expect(spec.files.map((file) => file.path)).toContain('onnx/mod.onnx_data_1');
    expect(await compare('local/several')).toBeGreaterThan(0.99999);
  });

  it.each<[title: string, code: string, spoil: (folder: string) => void]>([
    ['without that file', 'model_invalid', (folder) => rmSync(path.join(folder, WEIGHTS))],
    ['that names a file out of its folder', 'model_source_unsafe', (folder) => rename(folder, '../../../secret')],
    [
      'whose file is cut off',
      'model_unusable',
      (folder) => writeFileSync(path.join(folder, WEIGHTS), readFileSync(path.join(folder, WEIGHTS)).subarray(0, 1000)),
    ],
  ])('%s is refused and leaves nothing', async (_title, code, spoil) => {
    await expect(install(test.appliance, copyVariants(spoil), { name: 'local/bad' })).rejects.toMatchObject({ code });
    const folder = modelsFolder(test.dataDir);
    expect(existsSync(path.join(folder, 'bad'))).toBe(false);
    expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([]);
  });
});

it('a variant of half precision is installed alone and has nearly the vectors of the full model', async () => {
  const { spec } = await install(test.appliance, copyVariants(), { name: 'local/half', variant: 'fp16' });
  expect(spec).toMatchObject({ variant: 'fp16', modelFile: 'onnx/model_fp16.onnx' });
  expect(spec.files.map((file) => file.path).filter((file) => file.startsWith('onnx/'))).toEqual([
    'onnx/model_fp16.onnx',
  ]);
  expect(await compare('local/half')).toBeGreaterThan(0.9999);
});

it('an embedding model of another dimension is refused under an installed name', async () => {
  await install(test.appliance, 'bert', { name: 'local/wider' });
  await test.appliance.sql`
    UPDATE local_models SET spec = jsonb_set(spec, '{dimension}', '64') WHERE name = 'local/wider'`;
  await expect(install(test.appliance, 'bert', { name: 'local/wider' })).rejects.toMatchObject({
    code: 'model_dimension_differs',
    message: expect.stringContaining('64 dimensions'),
  });
});
