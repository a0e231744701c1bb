/**
 * Benchmark beside other engines on the same texts, vectors and queries, in turns: searches of our server over HTTP, and
 * queries of Chroma, pgvector, Milvus Lite and Qdrant's embedded form, which find ids only. Vector results are compared
 * with those of an exact search; where an engine has a parameter that trades speed for recall, the smallest value of its
 * manual with a recall of 0.98 is used. Ours embeds the query and returns texts, citations and metadata too. The engines
 * come from PyPI, for this measurement alone, into a virtual environment of Python that the benchmark makes and removes;
 * `--venv DIR` keeps it. The first argument is the number of chunks; `--only NAME` chooses engines by a part of the name.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { embedLexical, embedLexicalPassages } from '../../src/embedding/providers/local.ts';
import { analyse } from '../../src/language/analyser.ts';
import { INDEX_DIMENSIONS } from '../../src/projection/resize.ts';
import { drawQueries } from '../support/real-passages.ts';
import { LeanClient } from './lean-client.ts';
import { type Mode, PEERS, preparePython, type RunningPeer, startPeer } from './peers/peer-process.ts';
import { type SearchBucket, untilResident, withSearchBucket } from './search/open-bucket.ts';

const { values, positionals } = parseArgs({
  options: { venv: { type: 'string' }, only: { type: 'string', default: '' } },
  allowPositionals: true,
});
const CHUNKS = Number(positionals[0] ?? 50_000);
const CHUNKS_PER_DOCUMENT = 5;
const RESULTS = 10;
const QUERIES = 600;
const WARM_UP = 120;
/** Number of warm-up searches after which our server's code is compiled. */
const COMPILED_AFTER = 1_200;
/** Queries per turn, and uncounted first ones, for which the CPU's caches hold the other process's data. */
const BATCH = 30;
const BATCH_WARM_UP = 5;
/** Number of queries whose results are compared with those of an exact search. */
const EXACT = 100;
/** Recall for which an engine's effort is chosen. */
const RECALL_MIN = 0.98;
/** Goal: our median time over HTTP, above that of Chroma in process. */
const GOAL = { peer: 'Chroma', aboveMs: 1.5 };
const EMBED_TEXTS = 1_000;

const directory = mkdtempSync(path.join(tmpdir(), 'service-peers-'));
try {
  const residentMb = Math.max(512, Math.ceil(CHUNKS / 200));
  const shape = { chunks: CHUNKS, chunksPerDocument: CHUNKS_PER_DOCUMENT, teams: 200, residentMb };
  await withSearchBucket(shape, compareAll);
} finally {
  rmSync(directory, { recursive: true, force: true });
}

/** Rows that each query should find, and our searches. */
interface Ours {
  readonly exact: readonly Set<number>[];
  readonly queries: number;
  search(nth: number, mode: Mode): Promise<{ tookMs: number; rows: number[] }>;
  /** Search for other queries. */
  warmUp(mode: Mode): Promise<void>;
}

async function compareAll(bucket: SearchBucket): Promise<void> {
  const { passages, url, key } = bucket;
  const draw = (count: number, offset: number) => {
    const sample = Array.from({ length: count }, (_, nth) =>
      passages.at(Math.floor(((nth + offset) * CHUNKS) / count)),
    );
    return drawQueries(sample, count).filter((query) => analyse(query).length > 0);
  };
  const queries = draw(QUERIES, 0.5);
  const exact = writeData(passages, queries);
  const client = await LeanClient.open(url, { authorization: `Bearer ${key}` });
  const bodyOf = (query: string | undefined, mode: Mode) => JSON.stringify({ query, mode, top_k: RESULTS });
  const search = async (nth: number, mode: Mode) => {
    const body = bodyOf(queries[nth], mode);
    const beganMs = performance.now();
    const reply = await client.post(body);
    const tookMs = performance.now() - beganMs;
    const { results } = JSON.parse(reply.toString()) as { results: { id: string }[] };
    return { tookMs, rows: results.map(({ id }) => rowOf(id)) };
  };
  const warmUp = async (mode: Mode) => {
    for (const query of draw(COMPILED_AFTER, 0.3)) await client.post(bodyOf(query, mode));
  };
  await search(0, 'vector');
  await untilResident(bucket);
  try {
    for (const peer of PEERS.filter(({ name }) => name.toLowerCase().includes(values.only.toLowerCase()))) {
      const python = preparePython(values.venv ?? path.join(directory, 'venv'), peer.packages);
      if (python === null) {
        console.log(`peers    ${peer.name} skipped: it could not be installed; it needs Python 3 with venv, and PyPI`);
        process.exitCode = 1;
        continue;
      }
      const running = await startPeer(python, peer, directory, RESULTS);
      try {
        await compare(peer.name, running, { exact, queries: queries.length, search, warmUp });
      } finally {
        await running.stop();
      }
    }
  } finally {
    client.close();
  }
}

/** Write the files that the programs of the peers read. Returns the exact results of the first queries. */
function writeData(passages: SearchBucket['passages'], queries: readonly string[]): Set<number>[] {
  const vectors = new Float32Array(CHUNKS * INDEX_DIMENSIONS);
  const texts = Array.from({ length: CHUNKS }, (_, nth) => passages.at(nth));
  for (let from = 0; from < CHUNKS; from += EMBED_TEXTS) {
    vectors.set(embedLexicalPassages(texts.slice(from, from + EMBED_TEXTS)), from * INDEX_DIMENSIONS);
  }
  const queryVectors = embedLexical(queries).slice(0, queries.length * INDEX_DIMENSIONS);
  const write = (name: string, data: Float32Array | string) => writeFileSync(path.join(directory, name), data);
  write('vectors.f32', vectors);
  write('queries.f32', queryVectors);
  write('texts.json', JSON.stringify(texts));
  write('query-texts.json', JSON.stringify(queries));
  write('shape.json', JSON.stringify({ dimensions: INDEX_DIMENSIONS }));
  return Array.from({ length: EXACT }, (_, nth) => nearest(vectors, queryVectors, nth));
}

async function compare(name: string, peer: RunningPeer, ours: Ours): Promise<void> {
  const effort = await chooseEffort(peer, ours.exact);
  console.log(
    `peers    ${name} ${peer.version}: added and indexed in ${peer.seconds.toFixed(0)} s${effort === null ? '' : `, search effort ${effort}`}`,
  );
  for (const mode of peer.modes) {
    const own: Measured = { times: [], found: [] };
    const theirs: Measured = { times: [], found: [] };
    await ours.warmUp(mode);
    for (let from = 0; from < ours.queries; from += BATCH) {
      const to = Math.min(ours.queries, from + BATCH);
      for (let nth = from; nth < to; nth++) {
        const { tookMs, rows } = await ours.search(nth, mode);
        own.found.push(rows);
        if (isCounted(nth, from)) own.times.push(tookMs);
      }
      const reply = await peer.ask({ mode, effort, from, to });
      theirs.found.push(...reply.found);
      theirs.times.push(...reply.times.filter((_, nth) => isCounted(from + nth, from)));
    }
    report(name, mode, own, theirs, ours.exact);
  }
}

/** Choose the smallest effort with the required recall, or else the largest effort. */
async function chooseEffort(peer: RunningPeer, exact: readonly Set<number>[]): Promise<number | null> {
  for (const effort of peer.efforts) {
    const { found } = await peer.ask({ mode: 'vector', effort, from: 0, to: EXACT });
    if (recallOf(found, exact) >= RECALL_MIN) return effort;
  }
  return peer.efforts.at(-1) ?? null;
}

function isCounted(nth: number, firstOfTurn: number): boolean {
  return nth >= WARM_UP && nth - firstOfTurn >= BATCH_WARM_UP;
}

interface Measured {
  readonly times: number[];
  readonly found: (readonly number[])[];
}

function report(name: string, mode: Mode, own: Measured, peer: Measured, exact: readonly Set<number>[]): void {
  const show = ({ times, found }: Measured) => {
    const recall = mode === 'vector' ? `, recall ${recallOf(found, exact).toFixed(3)}` : '';
    return `${quantile(times, 0.5).toFixed(2)} ms p50, ${quantile(times, 0.99).toFixed(2)} p99${recall}`;
  };
  const above = quantile(own.times, 0.5) - quantile(peer.times, 0.5);
  const goal = name === GOAL.peer ? ` (goal <= ${GOAL.aboveMs} above)` : '';
  console.log(
    `peers    ${mode}, ${RESULTS} of ${CHUNKS} x ${INDEX_DIMENSIONS}: ours over HTTP ${show(own)}; ${name} ${show(peer)}; ` +
      `ours ${Math.abs(above).toFixed(2)} ms ${above > 0 ? 'above' : 'below'}${goal}`,
  );
}

/** Find the rows with the largest dot products with a query. */
function nearest(vectors: Float32Array, queries: Float32Array, query: number): Set<number> {
  const d = INDEX_DIMENSIONS;
  const scores = Array.from({ length: vectors.length / d }, (_, row) => {
    let score = 0;
    for (let i = 0; i < d; i++) score += (vectors[row * d + i] as number) * (queries[query * d + i] as number);
    return { row, score };
  });
  return new Set(
    scores
      .sort((a, b) => b.score - a.score)
      .slice(0, RESULTS)
      .map(({ row }) => row),
  );
}

/** Compute the mean share of exact results found, over the queries that have exact results. */
function recallOf(found: readonly (readonly number[])[], exact: readonly Set<number>[]): number {
  const shares = exact.map((wanted, nth) => (found[nth] ?? []).filter((row) => wanted.has(row)).length / wanted.size);
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

/** Return the row of a chunk by its id, `doc_<document>_<generation>_<chunk>`, whose documents are numbered from 1. */
function rowOf(id: string): number {
  const [, document, , chunk] = id.split('_');
  return (Number(document) - 1) * CHUNKS_PER_DOCUMENT + Number(chunk);
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number;
}
