import { appendFileSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  BUILT_IN_FOLDER,
  BUILT_IN_MODEL,
  chooseBuiltIn,
  faultOfFiles,
} from '../../src/local-models/built-in/built-in-model.ts';
import { argumentOfBuiltIn } from '../../src/local-models/open-local-models.ts';
import { ModelProcess } from '../../src/local-models/runtime/model-process.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { keepLogs } from '../support/logs.ts';

const SETTINGS = { threads: 1, idleMs: 0, hubUrl: '', hubToken: null, folder: null, runtimeLibrary: null };
const never = new AbortController().signal;

function copyFiles(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'service-built-in-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const file of ['model.onnx', 'tokenizer.json']) {
    cpSync(path.join(BUILT_IN_FOLDER, file), path.join(folder, file));
  }
  return folder;
}

function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] as number), 0);
}

describe('the vectors of local/semantic-1', () => {
  let model: ModelProcess;
  const embed = async (...texts: string[]) => {
    const all = await model.run({ texts, query: null, isBackground: false }, never);
    return texts.map((_, nth) => all.subarray(nth * 384, (nth + 1) * 384));
  };
  beforeAll(async () => {
    model = await ModelProcess.start(argumentOfBuiltIn(SETTINGS), 120_000);
  });
  afterAll(() => model.stop());

  it('a question is nearest to the passage that answers it, within and across languages', async () => {
    const passages = [
      'passage: The last ferry to the island leaves at 22:40.',
      'passage: Annual leave must be requested two weeks ahead.',
      'passage: 환불은 구매 후 7일 이내에 신청할 수 있습니다.',
    ];
    const found = await embed(...passages);
    for (const [question, answer] of [
      ['query: when does the final boat depart?', 0],
      ['query: how early do I have to ask for vacation?', 1],
      ['query: can I get my money back?', 2],
      ['query: wann fährt das letzte Schiff?', 0],
    ] as const) {
      const [vector] = await embed(question);
      const scores = found.map((each) => cosine(each, vector as Float32Array));
      expect(scores.indexOf(Math.max(...scores)), question).toBe(answer);
    }
  });

  it('the vector of a text does not depend on other texts of its batch', async () => {
    const text = 'passage: A short text.';
    const [alone] = await embed(text);
    const [, among] = await embed('passage: A completely different and somewhat longer text about ships.', text);
    expect(cosine(alone as Float32Array, among as Float32Array)).toBeGreaterThan(0.99999);
  });

  it('the end of a long text counts, too', async () => {
    const filler = 'The harbour was rebuilt in several steps after the storm. '.repeat(90);
    const [plain, ending, asked] = await embed(
      `passage: ${filler}`,
      `passage: ${filler} ${'The password of the wireless network is kept at the reception. '.repeat(45)}`,
      'query: where do I get the wifi password?',
    );
    const [before, after] = [plain, ending].map((each) => cosine(each as Float32Array, asked as Float32Array));
    expect(after).toBeGreaterThan((before as number) + 0.02);
    expect(cosine(ending as Float32Array, ending as Float32Array)).toBeCloseTo(1, 5);
  });
});

describe('files of local/semantic-1', () => {
  it('files that are missing or cut are noticed before a start, changed bytes at the start', async () => {
    const folder = copyFiles();
    expect(faultOfFiles(folder)).toBeNull();
    const [file] = BUILT_IN_MODEL.spec.files;
    const model = path.join(folder, 'model.onnx');
    const argument = { ...argumentOfBuiltIn(SETTINGS), model };
    appendFileSync(model, 'x');
    expect(faultOfFiles(folder)).toBe(`${model} is damaged`);
    await expect(ModelProcess.start(argument, 120_000)).rejects.toThrow(`${model} is damaged`);
    rmSync(model);
    expect(faultOfFiles(folder)).toBe(`${model} is missing`);
    expect(file?.sha256).toBe(argument.sha256);
  });
});

describe('the built-in model of an installation', () => {
  let own: TestAppliance;
  beforeAll(async () => {
    own = await openTestAppliance();
  });
  afterAll(() => own.close());

  it('is that of the settings, else the one that the installation began with', async () => {
    const { sql } = own.appliance;
    const { messages, logger } = keepLogs();
    expect(await chooseBuiltIn(sql, 'lexical', logger)).toBe('lexical');
    expect(await sql`SELECT built_in_model FROM installation`).toEqual([{ built_in_model: null }]);
    expect(await chooseBuiltIn(sql, null, logger, 2e9)).toBe('lexical');
    expect(messages()).toEqual([expect.stringContaining('less than 3 GB of memory')]);
    expect(await chooseBuiltIn(sql, null, logger, 8e9)).toBe('lexical');
    await sql`UPDATE installation SET built_in_model = NULL`;
    expect(await chooseBuiltIn(sql, null, logger, 8e9)).toBe('semantic');
    expect(await sql`SELECT built_in_model FROM installation`).toEqual([{ built_in_model: 'semantic' }]);
    expect(await chooseBuiltIn(sql, 'lexical', logger)).toBe('lexical');
    expect(messages()).toHaveLength(1);
  });

  it('serves the alias, and the lexical model serves it after the files turned out to be damaged', async () => {
    const { messages, logger } = keepLogs();
    const damaged = path.join(copyFiles(), 'libonnxruntime.so');
    writeFileSync(damaged, 'no library');
    const semantic = await openTestAppliance(
      {
        embeddings: { built_in: 'semantic' },
        local_models: { runtime_library: damaged },
      },
      { logger },
    );
    onTestFinished(() => semantic.close());
    const { backends, embedder } = semantic.appliance.embedding;
    const alias = backends.catalog.find('service-embed-1-small');
    expect(backends.indexModelsOf(alias).embedder.id).toBe('local/semantic-1');
    const embed = () =>
      embedder.embed({
        texts: ['a text'],
        orgId: semantic.operator.orgId,
        charge: { account: semantic.operator, axis: 'embed' },
        signal: never,
      } as never);
    await expect(embed()).rejects.toMatchObject({ code: 'provider_unavailable' });
    expect(backends.indexModelsOf(alias).embedder.id).toBe('local/lexical-1');
    expect(await embed()).toMatchObject({ model: 'local/lexical-1' });
    expect(messages().filter((message) => message.includes('matches words only'))).toHaveLength(1);
  });
});
