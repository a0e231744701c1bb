/**
 * Korean words: those of the OCR model of the product, Tesseract's `kor` (Apache-2.0). The model holds its word list as
 * a directed acyclic word graph. Formats: `tessdatamanager.h` and `dawg.h` of Tesseract 5.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';

/** Part numbers of a model. */
const WORD_GRAPH = 19;
const CHARACTERS = 21;
/** Bytes before the edges of a graph: magic number, number of characters, and number of edges. */
const GRAPH_HEADER_BYTES = 10;
const EDGE_BYTES = 8;
/** Flags of an edge, above the number of its character: last edge of its node, direction, end of a word. */
const FLAG_BITS = 3;
const LAST_EDGE = 1n;
const WORD_END = 4n;
/** Shortest part of a compound. Nearly every single syllable is a word. */
const PART_MIN = 2;

/** Word graph: edges of a node follow one another, and node 0 begins all words. */
interface WordGraph {
  readonly edges: BigUint64Array;
  readonly numbers: ReadonlyMap<string, number>;
  readonly characterBits: bigint;
}

let read: WordGraph | null = null;

/**
 * Return true for a Korean word without endings, or a compound of such words. The first call reads the words: 30 ms.
 */
export function isKoreanWord(word: string): boolean {
  read ??= readWords();
  const graph = read;
  const isBeginning = Array.from({ length: word.length + 1 }, (_, end) => end === 0);
  for (let start = 0; start < word.length; start++) {
    if (!isBeginning[start]) continue;
    for (const end of wordEnds(graph, word, start)) if (end - start >= PART_MIN) isBeginning[end] = true;
  }
  return isBeginning[word.length] === true;
}

/** List the ends of the graph's words that start at a position of a text. */
function wordEnds({ edges, numbers, characterBits }: WordGraph, text: string, start: number): number[] {
  const ends: number[] = [];
  const characters = (1n << characterBits) - 1n;
  let node = 0;
  for (let at = start; at < text.length; at++) {
    const number = numbers.get(text.charAt(at));
    if (number === undefined) return ends;
    const edge = edgeOf(node, BigInt(number));
    if (edge === null) return ends;
    if ((edge >> characterBits) & WORD_END) ends.push(at + 1);
    node = Number(edge >> (characterBits + BigInt(FLAG_BITS)));
    if (node === 0) return ends;
  }
  return ends;

  function edgeOf(first: number, wanted: bigint): bigint | null {
    for (let at = first; at < edges.length; at++) {
      const edge = edges[at] as bigint;
      if ((edge & characters) === wanted) return edge;
      if ((edge >> characterBits) & LAST_EDGE) return null;
    }
    return null;
  }
}

function readWords(): WordGraph {
  const folder = path.dirname(createRequire(import.meta.url).resolve('@tesseract.js-data/kor/package.json'));
  const model = gunzipSync(readFileSync(path.join(folder, '4.0.0_best_int', 'kor.traineddata.gz')));
  const lines = partOf(model, CHARACTERS).toString('utf8').split('\n').slice(1);
  const graph = partOf(model, WORD_GRAPH);
  const count = graph.readInt32LE(6);
  const edges = new BigUint64Array(count);
  for (let at = 0; at < count; at++) edges[at] = graph.readBigUInt64LE(GRAPH_HEADER_BYTES + at * EDGE_BYTES);
  return {
    edges,
    numbers: new Map(lines.map((line, number) => [line.split(' ')[0] as string, number])),
    characterBits: BigInt(Math.ceil(Math.log2(graph.readInt32LE(2) + 1))),
  };
}

/** Return a part of a model. The model starts with the number of parts and their offsets (-1 for a missing part). */
function partOf(model: Buffer, part: number): Buffer {
  const offsets = Array.from({ length: model.readInt32LE(0) }, (_, nth) => Number(model.readBigInt64LE(4 + nth * 8)));
  const start = offsets[part] as number;
  return model.subarray(start, Math.min(model.length, ...offsets.filter((offset) => offset > start)));
}
