import { afterAll, beforeAll, expect, it } from 'vitest';
import { ingestAll } from '../support/ingest-all.ts';
import { type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

let console: ConsoleTest;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  console = await openConsole();
  const documents = ['ferries', 'cranes', 'pilots', 'tides', 'anchors'].map((topic, n) => ({
    id: topic,
    fileName: `${topic}.md`,
    text: `# About ${topic}\n\nThe harbour has ${n + 3} rules about ${topic}. Ships wait for ${topic} every morning.`,
    metadata: { topic, level: String(n) },
  }));
  await ingestAll(console.test.appliance, console.test.operator, 'default', documents);
});
afterAll(() => console?.close());

const inBrowser = it.skipIf(!HAS_CHROMIUM);

inBrowser(
  'a query is searched in three modes side by side, with scores, ranks of each leg and the words that matched',
  async () => {
    const { page, context, faults } = await console.open('/console/search');
    await page.getByText('Ask something').waitFor();
    await expectGoodLooks(page, 'search-empty');
    await page.getByLabel('Query', { exact: true }).fill('rules about cranes');
    await page.getByText('More options').click();
    await page.getByLabel('By meaning').check();
    await page.getByLabel('By words').check();
    await page.getByRole('button', { name: 'Search' }).click();
    for (const mode of ['Hybrid', 'By meaning', 'By words']) {
      const results = page.getByRole('region', { name: mode, exact: true });
      await results.getByRole('link', { name: 'cranes.md' }).waitFor();
    }
    const hybrid = page.getByRole('region', { name: 'Hybrid' });
    const first = hybrid.getByRole('listitem').first();
    expect(await first.locator('mark').first().innerText()).toMatch(/rules|about|cranes/i);
    await first.getByRole('button', { name: 'Why is it here?' }).click();
    expect(await first.getByText('rank 1').count()).toBe(2);
    await first.getByText('cranes', { exact: true }).first().waitFor();
    await expectGoodLooks(page, 'search');
    await page.reload();
    await hybrid.getByRole('link', { name: 'cranes.md' }).waitFor();
    await hybrid.getByRole('link', { name: 'cranes.md' }).click();
    await page.locator('.passage.cited').waitFor();
    expect(faults).toEqual([]);
    await context.close();
  },
);

inBrowser('a misspelled word is corrected and told, and can be searched as it is spelled', async () => {
  const { page, context, faults } = await console.open('/console/search?bucket=default&q=rules+about+ancors');
  await page.getByText('Searched for “anchors” in place of “ancors”').waitFor();
  await page.getByRole('link', { name: 'anchors.md' }).waitFor();
  await expectGoodLooks(page, 'search-corrected');
  await page.getByRole('button', { name: 'Search as it is spelled' }).click();
  await page.getByText('in place of').waitFor({ state: 'detached' });
  expect(new URL(page.url()).searchParams.get('correct')).toBe('false');
  await page.getByText('More options').click();
  expect(await page.getByLabel('Correct the spelling').isChecked()).toBe(false);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser(
  'a result shows its relevance and the sentences that have words of the query, and its whole text on request',
  async () => {
    const { page, context, faults } = await console.open('/console/search?bucket=default&q=five+rules+about+pilots');
    const first = page.getByRole('listitem').filter({ hasText: 'pilots.md' }).first();
    const sentences = first.locator('.highlights');
    await sentences.waitFor();
    expect((await sentences.locator('mark').allInnerTexts()).map((word) => word.toLowerCase())).toContain('pilots');
    await first.getByRole('button', { name: 'Why is it here?' }).click();
    await first
      .getByText(/^Relevance: (high|medium|low|none)$/)
      .first()
      .waitFor();
    await first.getByText('The harbour has').waitFor();
    await first
      .getByText(/^rank 1, score [0-9.]+; weight [0-9.]+ adds [0-9.]+ to the fused score$/)
      .first()
      .waitFor();
    expect(await sentences.count()).toBe(0);
    expect(faults).toEqual([]);
    await context.close();
  },
);

inBrowser('a query that nothing in the bucket answers is told so above its nearest passages', async () => {
  const { page, context, faults } = await console.open(
    '/console/search?bucket=default&q=quantum+chromodynamics&mode=vector',
  );
  await page.getByText('Nothing here seems to answer the query').waitFor();
  await expectGoodLooks(page, 'search-none');
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('the words of a result that matched in another form are marked and listed', async () => {
  const { page, context, faults } = await console.open('/console/search?bucket=default&q=a+crane+that+is+ruled');
  const first = page.getByRole('listitem').filter({ hasText: 'cranes.md' }).first();
  await first.waitFor();
  const marked = await first.locator('mark').allInnerTexts();
  expect(marked.map((word) => word.toLowerCase())).toContain('cranes');
  await first.getByRole('button', { name: 'Why is it here?' }).click();
  await first.getByText('cranes', { exact: true }).first().waitFor();
  await page.goto(`${console.test.api.url}/console/search?bucket=default&q=cranes&mode=vector`);
  await first.getByRole('button', { name: 'Why is it here?' }).click();
  await first.getByText('not searched in this mode').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser(
  'the address of a citation opens the document at its chunk, after the sign-in of whoever has none',
  async () => {
    const key = await console.test.key({ scopes: ['search'] });
    const json = { query: 'rules about anchors', top_k: 1 };
    const { body } = await console.test.call('POST', '/v2/buckets/default/search', { key, json });
    const { url } = body.results[0].citation;
    const { page, context, faults } = await console.open('/console', { key: null });
    await page.goto('about:blank');
    await page.goto(url);
    await page.getByLabel('API key or user token').fill(key);
    await page.keyboard.press('Enter');
    const cited = page.locator('.passage.cited');
    await cited.waitFor();
    expect(await cited.innerText()).toContain('rules about anchors');
    expect(page.url()).toBe(url);
    expect(faults.filter((fault) => !fault.includes('about:blank'))).toEqual([]);
    await context.close();
  },
);

inBrowser('conditions on metadata narrow the results', async () => {
  const { page, context, faults } = await console.open('/console/search?bucket=default&q=harbour');
  await page.getByRole('link', { name: 'tides.md' }).waitFor();
  await page.getByText('More options').click();
  await page.getByRole('button', { name: 'Add a condition' }).click();
  await page.getByLabel('Key').fill('topic');
  await page.getByLabel('Comparison').selectOption('in');
  await page.getByLabel('Value').fill('tides, pilots');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByText('2 results').waitFor();
  await page.getByRole('link', { name: 'pilots.md' }).waitFor();
  expect(await page.getByRole('link', { name: 'cranes.md' }).count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('the request shown as curl gives the same results as the page', async () => {
  const { page, context, faults } = await console.open(
    "/console/search?bucket=default&q=the+harbour's+tides&filter=topic~eq~tides",
  );
  await page.getByRole('link', { name: 'tides.md' }).waitFor();
  await page.getByText('The same request').click();
  const code = await page.locator('.code-block code').innerText();
  const { execFile } = await import('node:child_process');
  const { promisify } = await import('node:util');
  const env = { PATH: process.env['PATH'], SERVICE_API_KEY: await console.test.key({ scopes: ['search'] }) };
  const { stdout } = await promisify(execFile)('bash', ['-c', code], { env });
  expect(
    JSON.parse(stdout).results.map((result: { citation: { file_name: string } }) => result.citation.file_name),
  ).toEqual(['tides.md']);
  await page.getByRole('button', { name: 'Python' }).click();
  const python = await page.locator('.code-block code').innerText();
  expect((await promisify(execFile)('python3', ['-c', python], { env })).stdout).toContain('tides.md');
  await page.getByRole('button', { name: 'TypeScript' }).click();
  const typescript = await page.locator('.code-block code').innerText();
  const node = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', typescript], { env });
  expect(node.stdout).toContain('tides.md');
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a query without results and a bucket that is not there are told in words', async () => {
  const { page, context, faults } = await console.open(
    '/console/search?bucket=default&q=harbour&filter=topic~eq~nothing',
  );
  await page.getByText('Nothing was found').waitFor();
  await page.goto(`${console.test.api.url}/console/search?bucket=missing&q=harbour`);
  await page.getByText('This does not exist, or not any more').waitFor();
  expect(await page.getByText('0 results').count()).toBe(0);
  await expectGoodLooks(page, 'search-refused');
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a search in an empty bucket says that it is empty', async () => {
  const key = await console.test.key({ scopes: ['search', 'buckets:manage'] });
  await console.test.call('POST', '/v1/buckets', { key, json: { name: 'empty' } });
  const { page, context, faults } = await console.open('/console/search?bucket=empty&q=harbour');
  await page.getByText('This bucket is empty').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('the search speaks Korean', async () => {
  const { page, context, faults } = await console.open(
    '/console/search?bucket=default&q=harbour&mode=hybrid&mode=keyword',
    { locale: 'ko-KR' },
  );
  await page.getByRole('region', { name: '하이브리드' }).getByRole('link', { name: 'tides.md' }).waitFor();
  await expectGoodLooks(page, 'search-korean');
  expect(faults).toEqual([]);
  await context.close();
});
