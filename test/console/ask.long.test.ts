import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type FakeChat, quote, startFakeChat } from '../support/fake-chat.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

let console: ConsoleTest;
let chat: FakeChat;
let usual: FakeChat;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  chat = await startFakeChat('openai');
  usual = { ...chat };
  console = await openConsole({
    settings: {
      answers: { protocol: 'openai', base_url: chat.url, model: 'chat-1', timeout_seconds: 5, keep_days: 1 },
    },
  });
  await ingestAll(console.test.appliance, console.test.operator, 'default', [
    {
      id: 'bearings',
      fileName: 'bearings.md',
      text: '# Bearings\n\nGrease the bearings every week. Use oil in winter.',
    },
    {
      id: 'filter',
      fileName: 'filter.md',
      text: '# Filter\n\nReplace the water filter after six months. Keep it dry.',
    },
  ]);
});
afterAll(async () => {
  await console?.close();
  await chat?.close();
});
afterEach(() => {
  if (HAS_CHROMIUM) Object.assign(chat, usual);
});

const inBrowser = it.skipIf(!HAS_CHROMIUM);
const QUESTION = 'How often are the bearings greased?';

inBrowser('a question is answered with citations, which show their passage and open their document', async () => {
  const { page, context, faults } = await console.open('/console/ask');
  await page.getByLabel('Question').fill(QUESTION);
  await page.keyboard.press('Enter');
  const turn = page.getByRole('listitem').filter({ hasText: QUESTION });
  const citation = turn.getByRole('link', { name: 'Source 1: bearings.md' });
  await citation.waitFor();
  expect(await turn.locator('.answer-text').innerText()).toContain('Grease the bearings every week.');
  await page.getByRole('button', { name: 'New conversation' }).waitFor();
  await expectGoodLooks(page, 'ask');
  await turn.getByRole('button', { name: 'This answer did not help' }).click();
  await turn.getByLabel('What was wrong or missing?').fill('The kind of grease.');
  await page.keyboard.press('Enter');
  await turn.getByText('Thank you.').waitFor();
  const [rated] = await console.test.appliance.sql`SELECT rating, reason FROM answers`;
  expect(rated).toEqual({ rating: 'down', reason: 'The kind of grease.' });
  await citation.hover();
  await turn.locator('.citation-text').first().waitFor({ state: 'visible' });
  await turn.getByRole('heading', { name: 'Sources' }).waitFor();
  await citation.click();
  await page.locator('.passage.cited').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a follow-up question is asked with the conversation, and tells what was searched', async () => {
  chat.answerOf = (call) => (call.isRewriting ? 'How often are the bearings greased in winter?' : quote(call));
  const { page, context, faults } = await console.open('/console/ask?of=bucket%2Fdefault');
  const ask = async (question: string) => {
    await page.getByLabel('Question').fill(question);
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await page.getByRole('button', { name: 'New conversation' }).waitFor();
  };
  await ask(QUESTION);
  await ask('And in winter?');
  await page.getByText('Searched for: How often are the bearings greased in winter?').waitFor();
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByText('Searched for:').waitFor({ state: 'detached' });
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('an answer is stopped, and a model that is down leaves the passages that were found', async () => {
  const { promise: never } = Promise.withResolvers<void>();
  chat.beforePart = (nth) => (nth < 4 ? Promise.resolve() : never);
  const { page, context, faults } = await console.open('/console/ask');
  await page.getByLabel('Question').fill(QUESTION);
  await page.keyboard.press('Enter');
  await page.getByText('Writing…').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('Stopped').waitFor();
  chat.misbehave = (response) => response.writeHead(401).end();
  await page.getByLabel('Question').fill(QUESTION);
  await page.keyboard.press('Enter');
  await page.getByText('The service failed').waitFor();
  await page.getByRole('heading', { name: 'Passages that were found' }).waitFor();
  await expectGoodLooks(page, 'ask-failed');
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('the page speaks Korean, and says so if no chat model is set', async () => {
  const { page, context, faults } = await console.open('/console/ask', { locale: 'ko-KR' });
  await page.getByRole('textbox', { name: '질문', exact: true }).fill('베어링에 얼마나 자주 윤활유를 바르나요?');
  await page.getByRole('button', { name: '질문', exact: true }).click();
  await page.getByRole('button', { name: '새 대화' }).waitFor();
  await expectGoodLooks(page, 'ask-korean');
  await page.route('**/v1/installation', (route) =>
    route.fulfill({ json: { name: null, logo: null, version: '1', upload_bytes_max: 1, answers: false } }),
  );
  await page.reload();
  await page.getByText('대화 모델이 설정되지 않았습니다').waitFor();
  await expectGoodLooks(page, 'ask-not-set');
  expect(faults).toEqual([]);
  await context.close();
});
