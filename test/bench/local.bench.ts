/**
 * Benchmark of local models against Python's onnxruntime with sorted batches, in turns:
 * `npm run bench -- local`. It measures the built-in model, a model of the shape of MiniLM-L6 with seeded weights, and its
 * int8 variant, each with the same file in both.
 *
 * `BENCH_PYTHON` names a Python that has onnx, onnxruntime, tokenizers and numpy (default: python3). `BENCH_TEXTS` is the
 * number of texts (default: 1000).
 */
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { BUILT_IN_FOLDER, BUILT_IN_MODEL } from '../../src/local-models/built-in/built-in-model.ts';
import { findLibrary } from '../../src/local-models/runtime/find-library.ts';
import { ModelProcess } from '../../src/local-models/runtime/model-process.ts';
import { loadTokenizerFile } from '../../src/models/tokenizer-file.ts';
import { createRandom } from '../support/random.ts';

const PYTHON = process.env['BENCH_PYTHON'] ?? 'python3';
const TEXTS = Number(process.env['BENCH_TEXTS'] ?? 1000);
const ROUNDS = 5;
/** Hidden size, layers, heads and vocabulary of all-MiniLM-L6-v2. */
const MINILM = ['384', '6', '12', '30522'];
const DIMENSION = 384;
const TOKENS = 128;
const SHORT_TOKENS = 16;
const MIB = 1024 * 1024;
const never = new AbortController().signal;

const fixtures = fileURLToPath(new URL('../fixtures/local-models/', import.meta.url));

/** Files of a model, and the token that fills its batches. */
interface Measured {
  readonly model: string;
  readonly tokenizer: string;
  readonly padId: number;
}

interface Times {
  readonly seconds: number;
  readonly p50Ms: number;
  readonly first: readonly number[];
}

/** Texts of as many tokens, special ones included. */
async function makeTexts(tokenizer: string, count: number, tokens: number): Promise<string[]> {
  const countTokens = await loadTokenizerFile(tokenizer);
  const random = createRandom(1);
  const words = 'the quick brown fox search vector meaning engine data paper running over lazy dog model value'.split(
    ' ',
  );
  return Array.from({ length: count }, () => {
    let text = random.pick(words);
    while (countTokens(`${text} fox`, tokens + 1) <= tokens) {
      const longer = `${text} ${random.pick(words)}`;
      text = countTokens(longer, tokens + 1) <= tokens ? longer : `${text} fox`;
    }
    return text;
  });
}

async function measureOwn(model: ModelProcess, texts: readonly string[], short: string): Promise<Times> {
  const run = (some: readonly string[]) => model.run({ texts: some, query: null, isBackground: false }, never);
  await run(texts.slice(0, 16));
  const beganMs = performance.now();
  const vectors = await run(texts);
  const seconds = (performance.now() - beganMs) / 1000;
  const single: number[] = [];
  for (let nth = 0; nth < 100; nth++) {
    const oneMs = performance.now();
    await run([short]);
    single.push(performance.now() - oneMs);
  }
  return { seconds, p50Ms: median(single), first: [...vectors.subarray(0, DIMENSION)] };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number;
}

/** Python in a process of its own, which keeps its model. */
class Reference {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  constructor({ model, tokenizer, padId }: Measured) {
    const script = fileURLToPath(new URL('./local/reference.py', import.meta.url));
    this.#child = spawn(PYTHON, [script, model, tokenizer, String(padId)], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async measure(texts: readonly string[], short: string): Promise<Times> {
    this.#child.stdin.write(`${JSON.stringify({ texts, short })}\n`);
    const { done, value } = await this.#lines.next();
    if (done) throw new Error('the reference in Python ended');
    return JSON.parse(value) as Times;
  }

  close(): void {
    this.#child.stdin.end();
  }
}

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) => x.reduce((sum, v, at) => sum + v * (y[at] as number), 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

async function compare(name: string, measured: Measured): Promise<void> {
  const { model, tokenizer, padId } = measured;
  const texts = await makeTexts(tokenizer, TEXTS, TOKENS);
  const [short = ''] = await makeTexts(tokenizer, 1, SHORT_TOKENS);
  const reference = new Reference(measured);
  const own = await ModelProcess.start(
    {
      ...{ library: findLibrary(null), model, tokenizer, kind: 'embedding', pooling: 'mean', padId },
      ...{ sha256: null, longTexts: 'cut', maxTokens: 512, threads: availableParallelism(), batchTokensMax: 2048 },
    },
    120_000,
  );
  const rounds: { own: Times; reference: Times }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({ own: await measureOwn(own, texts, short), reference: await reference.measure(texts, short) });
  }
  const ratio = (of: (times: Times) => number) => median(rounds.map((each) => of(each.reference) / of(each.own)));
  const perSecond = median(rounds.map((each) => texts.length / each.own.seconds));
  const beside = (own.residentBytes - statSync(model).size) / MIB;
  const last = rounds.at(-1) as (typeof rounds)[number];
  console.log(
    `${name}: ${perSecond.toFixed(1)} texts/s of ${TOKENS} tokens, ${ratio(({ seconds }) => seconds).toFixed(2)}x Python (floor 0.95x); ` +
      `one text of ${SHORT_TOKENS} tokens p50 ${last.own.p50Ms.toFixed(2)} ms, ${(1 / ratio(({ p50Ms }) => p50Ms)).toFixed(2)}x Python (at most 1.5x); ` +
      `memory beside the weights ${beside.toFixed(0)} MiB (at most 300); cosine with Python ${cosine(last.own.first, last.reference.first).toFixed(7)}`,
  );
  await own.stop();
  reference.close();
}

const folder = mkdtempSync(path.join(tmpdir(), 'bench-local-'));
try {
  const model = path.join(folder, 'model.onnx');
  const made = spawnSync(PYTHON, [path.join(fixtures, 'make_models.py'), 'bert', model, ...MINILM], {
    encoding: 'utf8',
  });
  if (made.status !== 0) {
    console.error(
      `${made.stderr ?? made.error}\nThis benchmark needs a Python with: pip install onnx onnxruntime tokenizers numpy (BENCH_PYTHON names it).`,
    );
    process.exit(1);
  }
  const tokenizer = path.join(fixtures, 'bert/tokenizer.json');
  await compare('fp32', { model, tokenizer, padId: 0 });
  await compare('int8', { model: model.replace('.onnx', '_int8.onnx'), tokenizer, padId: 0 });
  await compare('built-in', {
    model: path.join(BUILT_IN_FOLDER, 'model.onnx'),
    tokenizer: path.join(BUILT_IN_FOLDER, 'tokenizer.json'),
    padId: BUILT_IN_MODEL.spec.padId,
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
