/**
 * Benchmark beside Chroma on the same vectors, in turns: searches by vector of our server over HTTP, and queries of
 * Chroma (PyPI: chromadb) in the process that holds it, which finds ids and distances only. Both are compared with an
 * exact search. Chroma is used for this measurement alone, in a virtual environment of Python that the benchmark makes
 * and removes; `--venv DIR` keeps it. The first argument is the number of chunks.
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
import { type Chroma, prepareChroma, startChroma } from './peers/chroma.ts';
import { type SearchBucket, untilResident, withSearchBucket } from './search/open-bucket.ts';

const { values, positionals } = parseArgs({ options: { venv: { type: 'string' } }, allowPositionals: true });
const CHUNKS = Number(positionals[0] ?? 50_000);
const CHUNKS_PER_DOCUMENT = 5;
const RESULTS = 10;
const QUERIES = 600;
const WARM_UP = 120;
/** Queries of a turn, and the first of each that are not counted: the CPU's caches hold the data of the other process. */
const BATCH = 30;
const BATCH_WARM_UP = 5;
/** Queries whose results are compared with those of an exact search. */
const EXACT = 100;
/** Goal: our time over HTTP above that of Chroma in process, at the median. */
const ABOVE_MS_MAX = 1.5;
const EMBED_TEXTS = 1_000;

const directory = mkdtempSync(path.join(tmpdir(), 'service-peers-'));
try {
  const python = prepareChroma(values.venv ?? path.join(directory, 'venv'));
  if (python === null) {
    console.log('peers    skipped: Chroma could not be installed; it needs Python 3 with venv, and PyPI');
    process.exitCode = 1;
  } else {
    const residentMb = Math.max(512, Math.ceil(CHUNKS / 200));
    const shape = { chunks: CHUNKS, chunksPerDocument: CHUNKS_PER_DOCUMENT, teams: 200, residentMb };
    await withSearchBucket(shape, (bucket) => compare(python, bucket));
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}

async function compare(python: string, bucket: SearchBucket): Promise<void> {
  const { passages, url, key } = bucket;
  const sample = Array.from({ length: QUERIES }, (_, nth) => passages.at(Math.floor(((nth + 0.5) * CHUNKS) / QUERIES)));
  const queries = drawQueries(sample, QUERIES).filter((query) => analyse(query).length > 0);
  const vectors = new Float32Array(CHUNKS * INDEX_DIMENSIONS);
  for (let from = 0; from < CHUNKS; from += EMBED_TEXTS) {
    const texts = Array.from({ length: Math.min(EMBED_TEXTS, CHUNKS - from) }, (_, nth) => passages.at(from + nth));
    vectors.set(embedLexicalPassages(texts), from * INDEX_DIMENSIONS);
  }
  const queryVectors = embedLexical(queries).slice(0, queries.length * INDEX_DIMENSIONS);
  const files = { vectors: path.join(directory, 'vectors.f32'), queries: path.join(directory, 'queries.f32') };
  writeFileSync(files.vectors, vectors);
  writeFileSync(files.queries, queryVectors);
  const client = await LeanClient.open(url, { authorization: `Bearer ${key}` });
  const search = async (query: string) => {
    const body = JSON.stringify({ query, mode: 'vector', top_k: RESULTS });
    const beganMs = performance.now();
    const reply = await client.post(body);
    const tookMs = performance.now() - beganMs;
    const { results } = JSON.parse(reply.toString()) as { results: { id: string }[] };
    return { tookMs, rows: results.map(({ id }) => rowOf(id)) };
  };
  await search(queries[0] as string);
  await untilResident(bucket);
  const chroma = await startChroma(python, files, { dimensions: INDEX_DIMENSIONS, results: RESULTS });
  try {
    const exact = Array.from({ length: EXACT }, (_, nth) => nearest(vectors, queryVectors, nth));
    const own = { times: [] as number[], found: [] as (readonly number[])[] };
    const peer = { times: [] as number[], found: [] as (readonly number[])[] };
    for (let from = 0; from < queries.length; from += BATCH) {
      const to = Math.min(queries.length, from + BATCH);
      for (let nth = from; nth < to; nth++) {
        const { tookMs, rows } = await search(queries[nth] as string);
        own.found.push(rows);
        if (isCounted(nth, from)) own.times.push(tookMs);
      }
      const reply = await chroma.query(from, to);
      peer.found.push(...reply.found);
      peer.times.push(...reply.times.filter((_, nth) => isCounted(from + nth, from)));
    }
    report(chroma, own, peer, exact);
  } finally {
    await chroma.stop();
    client.close();
  }
}

function isCounted(nth: number, firstOfTurn: number): boolean {
  return nth >= WARM_UP && nth - firstOfTurn >= BATCH_WARM_UP;
}

interface Measured {
  readonly times: readonly number[];
  readonly found: readonly (readonly number[])[];
}

function report({ version, seconds }: Chroma, own: Measured, peer: Measured, exact: readonly Set<number>[]): void {
  const show = ({ times, found }: Measured) =>
    `${quantile(times, 0.5).toFixed(2)} ms p50, ${quantile(times, 0.99).toFixed(2)} p99, recall ${recallOf(found, exact).toFixed(3)}`;
  console.log(
    `peers    ${RESULTS} nearest of ${CHUNKS} x ${INDEX_DIMENSIONS}: ours over HTTP ${show(own)}; ` +
      `Chroma ${version} in process ${show(peer)} (added in ${seconds.toFixed(0)} s); ` +
      `ours is ${(quantile(own.times, 0.5) - quantile(peer.times, 0.5)).toFixed(2)} ms above (goal <= ${ABOVE_MS_MAX})`,
  );
}

/** Find the rows of the greatest dot products with a query. */
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

/** Compute the mean share of the exact results that were found, of the queries that have them. */
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
