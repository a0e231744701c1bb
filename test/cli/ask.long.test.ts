import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { makeDataDir } from '../support/appliance.ts';
import { type FakeChat, startFakeChat } from '../support/fake-chat.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { runCommand } from './service.ts';

let database: TestDatabase;
let dataDir: ReturnType<typeof makeDataDir>;
let chat: FakeChat;
let env: NodeJS.ProcessEnv;
const config = () => path.join(dataDir.dataDir, 'service.yaml');

beforeAll(async () => {
  database = await createTestDatabase();
  dataDir = makeDataDir();
  chat = await startFakeChat('anthropic');
  env = { DATABASE_URL: database.url, SERVICE_DATA_DIR: dataDir.dataDir };
  expect((await runCommand(['demo'], env)).code).toBe(0);
});
afterAll(async () => {
  await database.drop();
  await chat.close();
  dataDir.remove();
});
afterEach(() => {
  chat.misbehave = null;
});

const QUESTION = 'can a helmet be returned';
const ask = (...more: string[]) => runCommand(['ask', 'demo', QUESTION, ...more], env);

test('without a chat model, the command says which setting is missing', async () => {
  const { code, stdout, stderr } = await ask();
  expect([code, stdout]).toEqual([4, '']);
  expect(stderr).toContain('add one to service.yaml: answers: {protocol: openai');
});

test('init answers tests the model with one question, and writes it without its key', async () => {
  const init = (...more: string[]) =>
    runCommand(['init', 'answers', '--protocol', 'anthropic', '--url', chat.url, '--model', 'chat-2', ...more], env);
  expect((await init('--key-variable', 'CHAT_KEY')).stderr).toContain('the variable CHAT_KEY is not set');
  env = { ...env, CHAT_KEY: 'canary-ask-77' };
  chat.misbehave = (response) => response.writeHead(401).end();
  expect((await init('--key-variable', 'CHAT_KEY')).code).toBe(5);
  chat.misbehave = null;
  const { code, stdout } = await init('--key-variable', 'CHAT_KEY');
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^chat-2 begins to answer in \d+ ms; wrote it to /)]);
  expect(parse(readFileSync(config(), 'utf8'))).toEqual({
    answers: { protocol: 'anthropic', base_url: chat.url, model: 'chat-2', api_key: `\${CHAT_KEY}` },
  });
  expect((await init('--key-variable', 'CHAT_KEY')).stderr).toContain('already has a chat model');
  expect((await runCommand(['init', 'answers'], env)).stderr).toContain('give --model');
  chat.calls.length = 0;
});

test('an answer is printed with its sources, and as JSON', async () => {
  const { code, stdout, stderr } = await ask();
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/ \[1\][\s\S]*\n\nSources\n\[1\] \S+\.md/);
  expect(chat.calls[0]).toMatchObject({ model: 'chat-2', key: 'canary-ask-77' });
  const json = (await ask('--json', '--top-k', '2')).json();
  expect(json).toMatchObject({ object: 'answer', status: 'answered', usage: { input_tokens: 100, output_tokens: 20 } });
  expect(json.passages.length).toBeLessThanOrEqual(2);
  expect((await ask('--passages')).stdout).toMatch(/\n\[1\] .+\n {4}\S/);
});

test('doctor asks the model, and tells its refusal without the key', async () => {
  const checksOf = async () => (await runCommand(['doctor', '--json'], env)).json().checks as { name: string }[];
  const ofAnswers = async () => (await checksOf()).find(({ name }) => name === 'answers');
  expect(await ofAnswers()).toMatchObject({
    status: 'ok',
    detail: expect.stringMatching(/^chat-2 begins to answer in/),
  });
  chat.misbehave = (response) => response.writeHead(401).end();
  const refused = await ofAnswers();
  expect(refused).toMatchObject({ status: 'down' });
  expect(JSON.stringify(refused)).not.toContain('canary-ask-77');
});

test('an assistant is made, asked by its name, listed and deleted', async () => {
  const made = await runCommand(['assistants', 'create', 'helper', '--bucket', 'demo', '--language', 'ko'], env);
  expect(made.stdout).toMatch(/^created the assistant helper \(asst_/);
  expect((await runCommand(['ask', 'assistant/helper', QUESTION], env)).code).toBe(0);
  expect(chat.calls.at(-1)?.system).toContain('Answer in Korean.');
  expect((await runCommand(['assistants', 'list'], env)).stdout).toContain('helper');
  expect((await runCommand(['assistants', 'delete', 'helper', '--yes'], env)).code).toBe(0);
  expect((await runCommand(['ask', 'assistant/helper', QUESTION], env)).stderr).toContain(
    'assistant not found: helper',
  );
});

test('while the model is down, the passages are printed, and the command fails', async () => {
  chat.misbehave = (response) => response.writeHead(529).end();
  const { code, stdout, stderr } = await ask();
  expect(code).toBe(5);
  expect(stdout).toMatch(/^\nPassages that were found\n\[1\]|^Passages that were found\n\[1\]/);
  expect(stderr).toContain('provider chat-2 is unavailable (http_529)');
});

test('ratings of answers are listed', async () => {
  expect((await runCommand(['ratings', '--rating', 'down'], env)).stderr).toContain('no ratings');
  expect((await runCommand(['ratings', '--rating', 'bad'], env)).stderr).toContain('--rating');
});

test('wrong usage is refused with what to change', async () => {
  expect((await runCommand(['ask', 'demo'], env)).code).toBe(2);
  expect((await ask('--style', 'long')).stderr).toContain('style');
  expect((await ask('--filter', '{')).stderr).toContain('filter');
  expect((await runCommand(['ask', 'nothing', QUESTION], env)).stderr).toContain('bucket not found: nothing');
  expect((await runCommand(['assistants', 'create', 'X', '--bucket', 'demo'], env)).stderr).toContain('NAME');
});
