import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALL_SCOPES, type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

let console: ConsoleTest;

beforeAll(async () => {
  if (HAS_CHROMIUM) console = await openConsole();
});
afterAll(() => console?.close());

it.skipIf(!HAS_CHROMIUM)(
  'an empty overview loads sample documents, and a question leads to a cited passage',
  async () => {
    const key = await console.test.key({ org: 'newcomers', scopes: [...ALL_SCOPES], authLevel: 10 });
    const { page, context, faults } = await console.open('/console', { key });
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await expectGoodLooks(page, 'first-steps');
    await page.getByRole('button', { name: 'Load sample documents' }).click();
    await page.getByRole('heading', { name: 'Ask the sample documents' }).waitFor();
    await page.getByText('The documents are ready').waitFor({ timeout: 120_000 });
    await expectGoodLooks(page, 'first-steps-questions');
    await page.getByRole('link', { name: 'can a helmet be returned' }).click();
    await page.getByRole('link', { name: 'returns.md' }).first().waitFor({ timeout: 60_000 });
    await page.getByText('Helmets', { exact: false }).first().waitFor();
    expect(faults).toEqual([]);
    await context.close();
  },
);
