import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestGateway, SMALL, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import { CAN_MAKE_TERMINAL, runCommand, runOnTerminal, startService } from './service.ts';

let test: TestGateway;
let env: NodeJS.ProcessEnv;
const folder = mkdtempSync(path.join(tmpdir(), 'service-bulk-'));
const file = (name: string) => path.join(folder, name);

beforeAll(async () => {
  test = await openTestGateway();
  const config = {
    providers: {
      'vendor-a': { protocol: 'openai', base_url: test.upstream.baseUrl('openai'), api_key: 'canary-sk-5f2b1c9d7e' },
    },
  };
  writeFileSync(file('service.yaml'), JSON.stringify(config));
  env = { SERVICE_DATA_DIR: test.dataDir, DATABASE_URL: test.databaseUrl, SERVICE_CONFIG: file('service.yaml') };
});
afterAll(async () => {
  await test.close();
  rmSync(folder, { recursive: true, force: true });
});

const TEXTS = Array.from({ length: 230 }, (_, i) => `harbour report ${i}`);
const norm = (native: Float32Array, dimensions: number) => {
  const cut = native.subarray(0, dimensions);
  const length = Math.hypot(...cut);
  return Array.from(cut, (value) => value / length);
};

/** Read a float32 array as NumPy does: format description, then data at a multiple of 64 bytes. */
function readNpy(name: string): { header: string; data: Float32Array } {
  const bytes = readFileSync(name);
  expect(bytes.subarray(0, 8)).toEqual(Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0]));
  const start = 10 + bytes.readUInt16LE(8);
  expect(start % 64).toBe(0);
  const data = new Float32Array(bytes.buffer.slice(bytes.byteOffset + start, bytes.byteOffset + bytes.length));
  return { header: bytes.toString('latin1', 10, start), data };
}

it('bulk submit --wait processes a file itself if no worker is alive, and writes an array for NumPy', async () => {
  writeFileSync(file('texts.jsonl'), TEXTS.map((text, i) => JSON.stringify(i % 2 ? text : { text })).join('\n'));
  const out = file('vectors.npy');
  const args = ['bulk', 'submit', file('texts.jsonl'), '--wait', '--out', out, '--model', SMALL, '--dimensions', '32'];
  const finished = await runCommand([...args, '--json'], env);
  expect(finished).toMatchObject({ code: 0, stderr: expect.stringContaining('230 texts') });
  expect(finished.json()).toEqual({ id: expect.stringMatching(/^job_/), status: 'ready' });
  const { header, data } = readNpy(out);
  expect(header).toContain("'descr': '<f4', 'fortran_order': False, 'shape': (230, 32)");
  expect(data).toHaveLength(230 * 32);
  for (const row of [0, 99, 100, 229]) {
    const wanted = norm(test.upstream.vectorOf('text-embedding-3-small', TEXTS[row] as string), 32);
    for (const [i, value] of wanted.entries()) expect(data[row * 32 + i]).toBeCloseTo(value, 5);
  }

  const { id } = finished.json();
  const status = await runCommand(['bulk', 'status', id, '--json'], env);
  expect(status.json()).toMatchObject({ id, status: 'ready', metadata: { completed_count: 230, dimensions: 32 } });
  const page = await runCommand(['bulk', 'result', id, '--offset', '225', '--limit', '1000', '--json'], env);
  expect(page.json().pagination).toEqual({ offset: 225, limit: 1000, returned: 5, total: 230, has_more: false });
  expect(page.json().data[4].embedding.map(Math.fround)).toEqual([...data.subarray(229 * 32)]);
  const lines = await runCommand(['bulk', 'result', id, '--out', file('vectors.jsonl')], env);
  expect(lines.code).toBe(0);
  const read = readFileSync(file('vectors.jsonl'), 'utf8').trimEnd().split('\n');
  expect(read).toHaveLength(230);
  expect(JSON.parse(read[100] as string)).toEqual({ index: 100, embedding: expect.any(Array) });
  const cancelled = await runCommand(['bulk', 'cancel', id, '--json'], env);
  expect(cancelled).toMatchObject({ code: 4 });
  expect(cancelled.json().error.code).toBe('job_not_queued');
});

it('bulk submit without --wait prints the response of the endpoint, and leaves the work to a worker', async () => {
  writeFileSync(file('texts.txt'), 'one\ntwo\n');
  const finished = await runCommand(['bulk', 'submit', file('texts.txt'), '--model', SMALL, '--json'], env);
  const reply = finished.json();
  expect(reply).toEqual({
    id: expect.any(String),
    status: 'queued',
    model: SMALL,
    usage: { tokens: 2, count: 2 },
    chunk_size: 100,
  });
  expect(finished.stderr).toContain('no worker is running');
  const early = await runCommand(['bulk', 'result', reply.id, '--json'], env);
  expect(early.code).toBe(4);
  expect(early.json().error.code).toBe('result_not_ready');
  const cancelled = await runCommand(['bulk', 'cancel', reply.id, '--json'], env);
  expect(cancelled).toMatchObject({ code: 0 });
  expect(cancelled.json()).toEqual({ status: 'cancelled' });
  expect((await runCommand(['bulk', 'status', reply.id], env)).stdout).toMatch(/status\s+cancelled/);
});

it.each([
  ['a file that is not there', ['nowhere.txt'], 3, 'no file'],
  ['another kind of file', ['texts.csv'], 2, '.jsonl'],
  ['a line that is no JSON', ['bad.jsonl'], 2, 'line 2'],
  ['a line without a text', ['other.jsonl'], 2, 'line 1'],
  ['an empty line', ['empty.txt'], 2, 'line 2'],
  ['--out without --wait', ['texts.txt', '--out', 'x.npy'], 2, '--wait'],
  ['an unknown kind of output', ['texts.txt', '--wait', '--out', 'x.csv'], 2, '.npy'],
  ['an unknown model', ['texts.txt', '--model', 'vendor-z/none'], 2, 'vendor-z/none'],
  ['dimensions out of range', ['texts.txt', '--dimensions', '0'], 2, '--dimensions'],
])('bulk submit refuses %s', async (_, [name = '', ...rest], code, words) => {
  writeFileSync(file('texts.txt'), 'one\n');
  writeFileSync(file('bad.jsonl'), '"one"\n{two\n');
  writeFileSync(file('other.jsonl'), '{"body": "one"}\n');
  writeFileSync(file('empty.txt'), 'one\n\ntwo\n');
  const finished = await runCommand(['bulk', 'submit', file(name), ...rest, '--json'], env);
  expect(finished).toMatchObject({ code });
  expect(finished.json().error.message).toContain(words);
});

it.each(['status', 'cancel', 'result'])('bulk %s of an unknown id exits with 3', async (command) => {
  const finished = await runCommand(['bulk', command, 'job_none', '--json'], env);
  expect(finished.code).toBe(3);
  expect(finished.json().error.code).toBe('job_not_found');
});

it('bulk submit --wait reports why a job failed, and exits with 4', async () => {
  test.upstream.decide = () => ({ kind: 'status', status: 400, body: { error: { message: 'no' } } });
  writeFileSync(file('texts.txt'), 'one\n');
  const finished = await runCommand(['bulk', 'submit', file('texts.txt'), '--wait', '--model', SMALL, '--json'], env);
  test.upstream.decide = () => null;
  expect(finished.code).toBe(4);
  expect(finished.json().error).toEqual({ code: 'job_failed', message: expect.stringContaining('upstream_rejected') });
});

it('bulk submit --wait keeps the job on Ctrl-C and prints its id, and a worker process continues the job', async () => {
  test.upstream.decide = ({ texts }) => (texts.includes('text 0') ? null : { kind: 'delay', ms: 60_000 });
  writeFileSync(file('texts.txt'), Array.from({ length: 500 }, (_, i) => `text ${i}`).join('\n'));
  const running = startService(['bulk', 'submit', file('texts.txt'), '--wait', '--model', SMALL], env);
  const id = await until(async () => /^job (\S+):/m.exec(running.output().stderr)?.[1]);
  const job = async () => (await runCommand(['bulk', 'status', id, '--json'], env)).json();
  await until(async () => (await job()).metadata.completed_count === 100);
  running.child.kill('SIGINT');
  const finished = await running.finished;
  expect(finished.code).toBe(130);
  expect(finished.stderr).toContain(`the job ${id} is kept`);
  expect(await job()).toMatchObject({ status: 'queued', metadata: { completed_count: 100 } });

  test.upstream.decide = () => null;
  const before = test.upstream.calls.length;
  const worker = startService(['worker', 'embed', '--concurrency', '1', '--json'], env);
  await until(async () => (await job()).status === 'ready');
  expect(JSON.parse(worker.output().stdout)).toEqual({ kind: 'embed', concurrency: 1, pid: expect.any(Number) });
  worker.child.kill('SIGTERM');
  expect((await worker.finished).code).toBe(0);
  expect(test.upstream.calls).toHaveLength(before + 4);
}, 60_000);

it('worker ingest starts and stops', async () => {
  const worker = startService(['worker', 'ingest'], env);
  await until(async () => worker.output().stderr.includes('ingest worker takes up to 12 jobs'));
  worker.child.kill('SIGINT');
  expect((await worker.finished).code).toBe(0);
});

it.runIf(CAN_MAKE_TERMINAL)('bulk submit --wait shows a bar on a terminal', async () => {
  writeFileSync(file('texts.txt'), 'one\ntwo\n');
  const shown = await runOnTerminal(['bulk', 'submit', file('texts.txt'), '--wait', '--model', SMALL], env);
  expect(shown.code).toBe(0);
  expect(shown.stdout).toContain('2/2');
});
