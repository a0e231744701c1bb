import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FakeHub } from '../support/fake-hub.ts';
import { FIXTURES } from '../support/local-models.ts';
import { ALL_SCOPES, type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

const ONNX = 'onnx/model.onnx';
const FILES = [
  ...['config.json', 'tokenizer.json', 'modules.json', '1_Pooling/config.json', 'sentence_bert_config.json'],
  ...['config_sentence_transformers.json', ONNX],
];
let console: ConsoleTest;
let hub: FakeHub;
let folder: string;
let operator: string;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  folder = mkdtempSync(path.join(tmpdir(), 'service-models-'));
  cpSync(path.join(FIXTURES, 'reranker'), path.join(folder, 'small-reranker'), { recursive: true });
  hub = await FakeHub.start(
    Object.fromEntries(FILES.map((file) => [file, readFileSync(path.join(FIXTURES, 'bert', file))])),
  );
  console = await openConsole({
    worker: false,
    settings: { local_models: { hub_url: hub.url, folder } },
  });
  operator = await console.test.key({ scopes: [...ALL_SCOPES, 'platform_admin'], authLevel: 10 });
});
afterAll(async () => {
  await console?.close();
  await hub?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const inBrowser = it.skipIf(!HAS_CHROMIUM);

inBrowser('an operator installs a model of the hub, sees the progress, tests it and removes it', async () => {
  const held = Promise.withResolvers<void>();
  hub.fault = (file, _, response) => {
    if (file !== ONNX) return false;
    const content = readFileSync(path.join(FIXTURES, 'bert', ONNX));
    response.writeHead(200, { 'content-length': content.length });
    response.write(content.subarray(0, 100_000));
    void held.promise.then(() => response.end(content.subarray(100_000)));
    return true;
  };
  const { page, context, faults } = await console.open('/console/models', { key: operator });
  await page.getByRole('link', { name: 'On this host' }).click();
  await page.getByText('No model is installed').waitFor();
  await page.getByRole('button', { name: 'Install a model' }).click();
  const form = page.getByRole('dialog', { name: 'Install a model' });
  await form.getByLabel('Id at the hub').fill('org/model');
  await form.getByRole('button', { name: 'Show licence and size' }).click();
  const plan = page.getByRole('dialog', { name: 'Install local/model?' });
  await plan.getByText('mit', { exact: true }).waitFor();
  await plan.getByText(/^org\/model@c{12}$/).waitFor();
  await expectGoodLooks(page, 'models-install');
  await plan.getByRole('button', { name: 'Install', exact: true }).click();
  const progress = page.getByRole('progressbar', { name: 'Progress of local/model' });
  await progress.waitFor();
  await page.getByText('fetching').waitFor();
  await expectGoodLooks(page, 'models-installing');
  held.resolve();
  await progress.waitFor({ state: 'detached', timeout: 60_000 });
  const row = page.getByRole('row').filter({ hasText: 'local/model' });
  await row.getByRole('button', { name: 'Test local/model' }).click();
  await row.getByText(/with 32 dimensions/).waitFor();
  await expectGoodLooks(page, 'models-local');
  await row.getByRole('button', { name: 'Remove local/model' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
  await page.getByText('No model is installed').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a reranker of a folder is installed by the keyboard alone, in Korean', async () => {
  const { page, context, faults } = await console.open('/console/models/local', { key: operator, locale: 'ko-KR' });
  await page.getByRole('button', { name: '모델 설치' }).press('Enter');
  await page.getByLabel('소스', { exact: true }).selectOption('small-reranker');
  await page.getByLabel('종류').selectOption('reranker');
  await page.getByLabel('이름', { exact: true }).press('Enter');
  await page.getByRole('dialog').getByText('표시 없음').waitFor();
  await page.getByRole('button', { name: '설치', exact: true }).press('Enter');
  const row = page.getByRole('row').filter({ hasText: 'local/small-reranker' });
  await row.getByRole('button', { name: 'local/small-reranker 시험' }).press('Enter');
  await row.getByText(/만에 응답했습니다/).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser(
  'a cancelled installation leaves the list, and a failed one says why in Korean and can be forgotten',
  async () => {
    hub.fault = (file, _, response) => {
      if (file !== ONNX) return false;
      response.writeHead(200, { 'content-length': 1_000_000 }).write('begun');
      return true;
    };
    const { page, context, faults } = await console.open('/console/models/local', { key: operator, locale: 'ko-KR' });
    const install = async () => {
      await page.getByRole('button', { name: '모델 설치' }).click();
      await page.getByLabel('허브의 ID').fill('org/model');
      await page.getByRole('button', { name: '라이선스와 크기 보기' }).click();
      await page.getByRole('button', { name: '설치', exact: true }).click();
    };
    const progress = page.getByRole('list', { name: '설치 진행' });
    await install();
    await page.getByRole('button', { name: 'local/model 취소' }).click();
    await progress.waitFor({ state: 'detached', timeout: 20_000 });
    hub.fault = (file, _, response) => file === ONNX && Boolean(response.end(Buffer.alloc(10_000_000)));
    await install();
    await page.getByText('받은 파일이 허브가 알린 것과 다릅니다.').waitFor();
    await page.getByRole('button', { name: 'local/model 지우기' }).click();
    await progress.waitFor({ state: 'detached' });
    expect(faults).toEqual([]);
    await context.close();
  },
);

inBrowser('a caller who is no operator sees no local models', async () => {
  const { page, context } = await console.open('/console/models');
  await page.getByRole('link', { name: 'Routing' }).waitFor();
  expect(await page.getByRole('link', { name: 'On this host' }).count()).toBe(0);
  await context.close();
});
