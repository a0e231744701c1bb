import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { FakeTokenServer } from '../support/fake-token-server.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { CAN_MAKE_TERMINAL, runCommand } from './service.ts';
import { startOnTerminal } from './terminal.ts';

// `init` writes service.yaml for a vendor that a real call has found.
vi.setConfig({ testTimeout: 90_000 });
let upstream: FakeUpstream;
let keyed: FakeUpstream;
let folder: string;
let file: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  upstream = await FakeUpstream.start({ dimensions: 384 });
  keyed = await FakeUpstream.start({ dimensions: 24, apiKeys: ['key-of-the-vendor'] });
});
afterAll(async () => {
  await upstream.close();
  await keyed.close();
});
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'service-init-'));
  file = path.join(folder, 'service.yaml');
  env = { SERVICE_DATA_DIR: folder };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const init = (...args: string[]) => runCommand(['init', ...args], env);

test.each([
  ...(['ollama', 'tei', 'openai', 'gemini', 'voyage', 'jina', 'cohere'] as const),
  ...(['azure', 'mistral', 'nomic', 'mixedbread', 'nim'] as const),
])('init tests a server that speaks %s by one call, and writes it with the length of its vectors', async (protocol) => {
  const { calls } = upstream;
  const before = calls.length;
  const url = upstream.baseUrl(protocol);
  const args = ['--protocol', protocol, '--vendor', 'mine', '--url', url, '--model', 'small', '--json'];
  const finished = await init(...args);
  expect(finished).toMatchObject({ code: 0 });
  expect(finished.json()).toMatchObject({ file, provider: 'mine', model: 'mine/small', dimensions: 384 });
  expect(calls.length).toBe(before + 1);
  expect(parse(readFileSync(file, 'utf8'))).toEqual({
    providers: { mine: { protocol, base_url: url, models: { 'mine/small': 'small' } } },
    models: [{ id: 'mine/small', vendor: 'mine', dimensions: 384, max_tokens: 512 }],
  });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(await runCommand(['config', 'check'], env)).toMatchObject({ code: 0 });
});

test('init sets up Bedrock with a region and the name of a variable, and no address', async () => {
  env = { ...env, BEDROCK_KEY: 'key-of-the-vendor' };
  const args = ['--protocol', 'bedrock', '--region', 'us-east-1', '--model', 'amazon.titan-embed-text-v2:0', '--json'];
  const fake = `${keyed.url}/bedrock`;
  const finished = await init(...args, '--url', fake, '--key-variable', 'BEDROCK_KEY');
  expect(finished.json()).toMatchObject({ model: 'bedrock/amazon.titan-embed-text-v2:0', dimensions: 24 });
  const id = 'bedrock/amazon.titan-embed-text-v2:0';
  expect(parse(readFileSync(file, 'utf8'))).toEqual({
    providers: {
      bedrock: {
        ...{ protocol: 'bedrock', base_url: fake, region: 'us-east-1', api_key: `\${BEDROCK_KEY}` },
        models: { [id]: 'amazon.titan-embed-text-v2:0' },
      },
    },
  });
});

test('init sets up Vertex AI with the key of a service account', async () => {
  const tokenServer = await FakeTokenServer.start();
  const google = await FakeUpstream.start({ apiKeys: ['ya29.token-1'], dimensions: 768 });
  env = { ...env, VERTEX_KEY: tokenServer.keyFile() };
  const place = ['--protocol', 'vertex', '--project', 'p-1', '--location', 'us-central1'];
  const args = [...place, '--url', `${google.url}/vertex`, '--key-variable', 'VERTEX_KEY'];
  const finished = await init(...args, '--model', 'text-embedding-005', '--json');
  await tokenServer.close();
  await google.close();
  expect(finished.json()).toMatchObject({ model: 'vertex/text-embedding-005', dimensions: 768 });
  const { vertex } = parse(readFileSync(file, 'utf8')).providers;
  expect(vertex).toMatchObject({ project: 'p-1', location: 'us-central1', service_account: `\${VERTEX_KEY}` });
  expect(readFileSync(file, 'utf8') + finished.stdout + finished.stderr).not.toContain('PRIVATE KEY');
});

test('init names the flags that a protocol needs', async () => {
  const bedrock = await init('--protocol', 'bedrock');
  expect(bedrock.stderr).toContain('give --region and --model');
  const vertex = await init('--protocol', 'vertex', '--model', 'm');
  expect(vertex.stderr).toContain('give --project and --location');
});

test('init keeps the settings and comments of the file, and replaces a provider only with --force', async () => {
  writeFileSync(file, '# mine\nport: 8081 # why\nmodels:\n  - {id: a/b, vendor: a, dimensions: 8, max_tokens: 9}\n');
  const args = ['--protocol', 'ollama', '--url', upstream.baseUrl('ollama'), '--model', 'small'];
  expect(await init(...args)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('requests that name no model, and new buckets, use it from now on'),
  });
  const text = readFileSync(file, 'utf8');
  expect(text).toContain('# mine\nport: 8081 # why\n');
  expect(parse(text).models.map(({ id }: { id: string }) => id)).toEqual(['a/b', 'ollama/small']);
  const again = await init(...args, '--json');
  expect([again.code, again.json().error.code]).toEqual([4, 'provider_exists']);
  expect(readFileSync(file, 'utf8')).toBe(text);
  expect(await init(...args, '--force')).toMatchObject({ code: 0 });
  expect(parse(readFileSync(file, 'utf8'))).toEqual(parse(text));
});

test('init writes the name of the variable of a key, never the key', async () => {
  env = { ...env, VENDOR_KEY: 'key-of-the-vendor' };
  const args = ['--protocol', 'openai', '--vendor', 'v', '--url', keyed.baseUrl('openai'), '--model', 'm'];
  const finished = await init(...args, '--key-variable', 'VENDOR_KEY');
  expect(finished).toMatchObject({ code: 0 });
  const text = readFileSync(file, 'utf8');
  expect(parse(text).providers.v.api_key).toBe(`\${VENDOR_KEY}`);
  expect(text + finished.stdout + finished.stderr).not.toContain('key-of-the-vendor');
});

test.each([
  ['a key that is refused', ['--key-variable', 'WRONG'], 2, 'provider_refused'],
  ['a variable that is not set', ['--key-variable', 'NOTHING'], 2, 'key_missing'],
])('init writes nothing after %s', async (_, more, code, error) => {
  env = { ...env, WRONG: 'another-key' };
  const args = ['--protocol', 'openai', '--url', keyed.baseUrl('openai'), '--model', 'm', ...more, '--json'];
  const finished = await init(...args);
  expect([finished.code, finished.json().error.code]).toEqual([code, error]);
  expect(finished.stdout + finished.stderr).not.toContain('another-key');
  expect(existsSync(file)).toBe(false);
});

test.each([
  ['a server that is not there', 'http://127.0.0.1:1', 5, 'provider_unavailable'],
  ['an address that is none', 'nowhere', 2, 'config_invalid'],
])('init writes nothing for %s', async (_, url, code, error) => {
  const finished = await init('--protocol', 'ollama', '--url', url, '--model', 'm', '--json');
  expect([finished.code, finished.json().error.code]).toEqual([code, error]);
  expect(existsSync(file)).toBe(false);
});

test('init without a terminal names the flags that are missing', async () => {
  expect(await init()).toMatchObject({ code: 2, stderr: expect.stringContaining('--protocol and --url and --model') });
  expect(await init('--protocol', 'tei')).toMatchObject({ code: 2, stderr: expect.stringContaining('give --model') });
});

test.skipIf(!CAN_MAKE_TERMINAL)('init asks on a terminal for what was not given, with defaults', async () => {
  const terminal = startOnTerminal(['init', '--url', upstream.baseUrl('ollama')], env, { columns: 80, rows: 24 });
  await terminal.shows('Which one makes the embeddings? [1-14]');
  terminal.pressKeys('15\n');
  await terminal.shows('Enter a number from 1 to 14');
  terminal.pressKeys('6\n');
  await terminal.shows('Name of the vendor [ollama]:');
  terminal.pressKeys('\n');
  await terminal.shows('Name of the model at the vendor:');
  terminal.pressKeys('small\n');
  await terminal.shows('ollama/small returns vectors of 384 dimensions');
  expect(await terminal.code).toBe(0);
  expect(parse(readFileSync(file, 'utf8')).providers.ollama.protocol).toBe('ollama');
});

test.runIf(CAN_MAKE_TERMINAL)('the end of the input (Ctrl-D) at a question of init interrupts it', async () => {
  const terminal = startOnTerminal(['init'], env, { columns: 80, rows: 24 });
  await terminal.shows('Which one makes the embeddings? [1-14]');
  terminal.pressKeys('\x04');
  await terminal.shows('interrupted');
  expect(await terminal.code).toBe(130);
  expect(terminal.raw()).not.toContain('unsettled');
  expect(existsSync(file)).toBe(false);
});
