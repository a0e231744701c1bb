/** Runs the searches of the evaluation of relevance: those of judged sets, and natural questions. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { embedLexical, embedLexicalPassages } from '../../../src/embedding/providers/local.ts';
import { prepareHere } from '../../../src/ingest/prepare-chunks.ts';
import { INDEX_DIMENSIONS } from '../../../src/projection/resize.ts';
import { extract } from '../../support/read-document.ts';
import { openBuiltInVectors } from '../built-in-vectors.ts';
import { readDocuments, readQueries, readRelevant } from '../judged-data.ts';
import {
  type Bucket,
  type BucketText,
  type JudgedResult,
  judgeQuery,
  type Kind,
  openBucket,
} from './judged-searches.ts';
import { NATURAL_QUESTIONS } from './natural-questions.ts';

const CORPUS = fileURLToPath(new URL('../../../src/demo/corpus/', import.meta.url));
const QUERIES_MAX = 120;
const LONG_QUERIES_MAX = 60;
const SMALL_BUCKET = 32;
const TINY_BUCKET = 8;
const FEW = 2;
/** Sets in Korean or Japanese, whose words have few characters. */
const DENSE_SETS = new Set(['korquad-a', 'jaquad']);
/** Characters before the question of a long query. */
const PRELUDE_CHARS = { dense: 130, others: 280 };
/** Sets whose documents all treat one field, with the set whose queries are off topic there. */
const OFF_TOPIC_SETS: Readonly<Record<string, string>> = { cranfield: 'cosqa-3000', 'cosqa-3000': 'cranfield' };

/**
 * Bucket and queries of a search: a whole set; buckets of 32 or 8 documents; long queries in the whole set; natural
 * questions in the demonstration corpus, and in parts of it.
 */
export type Part = 'whole' | 'small' | 'tiny' | 'few' | 'long' | 'natural' | 'natural_tiny';

export interface Judged extends JudgedResult {
  readonly set: string;
  readonly part: Part;
  readonly query: string;
}

export interface Embedder {
  queries(texts: readonly string[]): Promise<Float32Array>;
  passages(texts: readonly string[]): Promise<Float32Array>;
  close(): Promise<void>;
}

export function openEmbedder(kind: Kind): Embedder {
  if (kind === 'semantic') return openBuiltInVectors();
  return {
    queries: async (texts) => embedLexical(texts),
    passages: async (texts) => embedLexicalPassages(texts),
    close: async () => {},
  };
}

interface Query {
  readonly id: string;
  readonly text: string;
}

/** Search a judged set in all ways. */
export async function judgeSet(set: string, kind: Kind, embedder: Embedder): Promise<Judged[]> {
  const documents = readDocuments(set);
  const texts = documents.map(({ title, text }) => toText(`${title}\n\n${text}`));
  const vectors = await embedder.passages(texts.map(({ embedded }) => embedded));
  const relevant = readRelevant(set);
  const queries = readQueries(set);
  const queryVectors = await embedder.queries(queries.map(({ text }) => text));
  const rowOfDocument = new Map(documents.map(({ id }, row) => [id, row]));
  const answersOf = ({ id }: Query) => [...(relevant.get(id) ?? [])].flatMap((name) => rowOfDocument.get(name) ?? []);
  const asked = sampleOf([...queries.keys()], QUERIES_MAX).filter((at) => answersOf(queries[at] as Query).length > 0);
  const judged: Judged[] = [];
  const note = (part: Part, query: string, results: readonly JudgedResult[]) => {
    for (const result of results) judged.push({ ...result, set, part, query });
  };
  const bucketOf = (from: number, to: number) =>
    openBucket(texts.slice(from, to), vectors.slice(from * INDEX_DIMENSIONS, to * INDEX_DIMENSIONS));
  const parts = [
    { part: 'whole', size: texts.length },
    { part: 'small', size: SMALL_BUCKET },
    { part: 'tiny', size: TINY_BUCKET },
    { part: 'few', size: FEW },
  ] as const;
  for (const { part, size } of parts) {
    for (let from = 0; from + size <= texts.length; from += size) {
      const own = asked.filter((at) => answersOf(queries[at] as Query).some((row) => row >= from && row < from + size));
      if (own.length === 0) continue;
      const bucket = bucketOf(from, from + size);
      for (const at of own) {
        const query = queries[at] as Query;
        const wanted = new Set(answersOf(query).flatMap((row) => (row >= from && row < from + size ? row - from : [])));
        note(part, query.text, judgeQuery(bucket, { text: query.text, vector: rowOf(queryVectors, at), wanted }, kind));
      }
    }
  }
  // Neighbours in a set treat the same subject, so questions about its last third are off topic in its first half.
  const half = Math.floor(texts.length / 2);
  const other = OFF_TOPIC_SETS[set];
  const strangers =
    other === undefined
      ? queries.filter((query) => answersOf(query).every((row) => row > (2 * texts.length) / 3))
      : readQueries(other);
  const foreign = sampleOf(strangers, LONG_QUERIES_MAX);
  const foreignVectors = await embedder.queries(foreign.map(({ text }) => text));
  for (const [part, size] of [
    ['whole', half],
    ['small', SMALL_BUCKET],
    ['tiny', TINY_BUCKET],
    ['few', FEW],
  ] as const) {
    const buckets = new Map<number, Bucket>();
    for (const [at, { text }] of foreign.entries()) {
      const from = part === 'whole' ? 0 : (at % Math.floor(half / size)) * size;
      const bucket = buckets.get(from) ?? bucketOf(from, from + size);
      buckets.set(from, bucket);
      note(part, text, judgeQuery(bucket, { text, vector: rowOf(foreignVectors, at), wanted: new Set() }, kind));
    }
  }
  await judgeLong();
  return judged;

  /** Search for the start of a text on the subject, followed by the question. That text is not in the bucket. */
  async function judgeLong() {
    const charsMax = DENSE_SETS.has(set) ? PRELUDE_CHARS.dense : PRELUDE_CHARS.others;
    const long = sampleOf(asked, LONG_QUERIES_MAX).flatMap((at) => {
      const answers = answersOf(queries[at] as Query);
      const [first = 0] = answers;
      const told = set === 'cranfield' ? first : first + (first % 5 === 4 ? -1 : 1);
      const wanted = answers.filter((row) => row !== told);
      const { text } = documents[told] ?? { text: '' };
      if (wanted.length === 0 || text === '') return [];
      const prelude = text.slice(0, charsMax).replace(/\S*$/u, '').trim() || text.slice(0, charsMax);
      return { text: `${prelude} ${queries[at]?.text}`, told, wanted };
    });
    const longVectors = await embedder.queries(long.map(({ text }) => text));
    const bucket = bucketOf(0, texts.length);
    const firstHalf = bucketOf(0, half);
    for (const [at, { text, told, wanted }] of long.entries()) {
      const asking = { text, vector: rowOf(longVectors, at), wanted: new Set(wanted), hidden: new Set([told]) };
      note('long', text, judgeQuery(bucket, asking, kind));
      if (other !== undefined || [told, ...wanted].some((row) => row <= (2 * texts.length) / 3)) continue;
      note('long', text, judgeQuery(firstHalf, { ...asking, wanted: new Set(), hidden: new Set() }, kind));
    }
  }
}

/** Ask natural questions of the demonstration corpus, and of buckets with one document each of each language. */
export async function judgeNatural(kind: Kind, embedder: Embedder): Promise<Judged[]> {
  const { files, texts } = await readCorpus();
  const vectors = await embedder.passages(texts.map(({ embedded }) => embedded));
  const queryVectors = await embedder.queries(NATURAL_QUESTIONS.map(({ question }) => question));
  const judged: Judged[] = [];
  const isKorean = (text: string) => /\p{Script=Hangul}/u.test(text);
  for (const [at, { question, file }] of NATURAL_QUESTIONS.entries()) {
    const asking = (rows: readonly number[]) => {
      const bucket = openBucket(
        rows.map((row) => texts[row] as BucketText),
        Float32Array.from(rows.flatMap((row) => [...rowOf(vectors, row)])),
      );
      const wanted = new Set(rows.flatMap((row, nth) => (files[row] === file ? nth : [])));
      return judgeQuery(bucket, { text: question, vector: rowOf(queryVectors, at), wanted }, kind);
    };
    const note = (part: Part, results: readonly JudgedResult[]) => {
      for (const result of results) {
        const { kind: own } = NATURAL_QUESTIONS[at] as (typeof NATURAL_QUESTIONS)[number];
        const situation = own === 'answered' ? result.situation : own;
        judged.push({ ...result, situation, set: isKorean(question) ? 'demo-ko' : 'demo-en', part, query: question });
      }
    };
    note('natural', asking([...texts.keys()]));
    const ofLanguage = [...texts.keys()].filter((row) => isKorean(texts[row]?.embedded ?? '') === isKorean(question));
    note('natural_tiny', asking(ofLanguage));
  }
  return judged;
}

/** Read and cut the demonstration corpus as a job does. */
async function readCorpus() {
  const files: string[] = [];
  const texts: BucketText[] = [];
  for (const language of ['english', 'korean']) {
    for (const name of readdirSync(path.join(CORPUS, language)).sort()) {
      const window = await extract(readFileSync(path.join(CORPUS, language, name)), name);
      const request = { openHeadings: [], chunkTokens: 400, overlapTokens: 60 };
      for (const page of prepareHere({ ...request, window: { ...window, start: 0 } })?.pages ?? []) {
        for (const { text, embedText } of 'chunks' in page ? page.chunks : []) {
          files.push(`${language}/${name}`);
          texts.push({ embedded: embedText, shown: text });
        }
      }
    }
  }
  return { files, texts };
}

function toText(text: string): BucketText {
  return { embedded: text, shown: text };
}

function rowOf(vectors: Float32Array, row: number): Float32Array {
  return vectors.subarray(row * INDEX_DIMENSIONS, (row + 1) * INDEX_DIMENSIONS);
}

/** Take at most `max` of a list, evenly. */
function sampleOf<T>(list: readonly T[], max: number): T[] {
  const step = Math.max(1, Math.floor(list.length / max));
  return list.filter((_, nth) => nth % step === 0).slice(0, max);
}
