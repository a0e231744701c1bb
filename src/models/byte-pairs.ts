/** Vocabulary of byte-pair encoding. Byte strings are strings in which every code unit is one byte (`latin1`). */
export interface BytePairVocabulary {
  /** Rank of each token by its bytes. Lower ranks are merged first. */
  readonly ranks: ReadonlyMap<string, number>;
  /** Rank of each two-byte token at `first * 256 + second`, or -1. */
  readonly pairRanks: Int32Array;
  readonly tokenBytesMax: number;
}

/** Maximum length for which a linear search for the lowest rank is faster than a heap. */
const SCANNED_BYTES_MAX = 64;
/** Factor above every position, so that rank and position fit into one exact number. */
const POSITIONS = 2 ** 26;

const starts = new Int32Array(SCANNED_BYTES_MAX + 2);
const scores = new Int32Array(SCANNED_BYTES_MAX + 2);
const NO_RANK = 0x7fffffff;

/**
 * Count the tokens into which byte-pair encoding splits one pre-token. It merges the two neighbours whose union has the
 * lowest rank, the leftmost first, until no union is a token. O(n log n), so that a long run without a space costs no
 * more than prose.
 *
 * @param bytes a pre-token, which is never merged with its neighbours; fewer than 2^26 bytes
 * @returns the number of tokens
 */
export function countMerged(bytes: string, vocabulary: BytePairVocabulary): number {
  if (bytes.length < 2) return bytes.length;
  if (bytes.length <= vocabulary.tokenBytesMax && vocabulary.ranks.has(bytes)) return 1;
  return bytes.length <= SCANNED_BYTES_MAX ? countByScan(bytes, vocabulary) : countByHeap(bytes, vocabulary);
}

function pairRank(bytes: string, at: number, { pairRanks }: BytePairVocabulary): number {
  return pairRanks[bytes.charCodeAt(at) * 256 + bytes.charCodeAt(at + 1)] as number;
}

function countByScan(bytes: string, vocabulary: BytePairVocabulary): number {
  const { ranks, tokenBytesMax } = vocabulary;
  let parts = bytes.length;
  for (let i = 0; i <= parts; i++) starts[i] = i;
  for (let i = 0; i < parts - 1; i++) {
    const rank = pairRank(bytes, i, vocabulary);
    scores[i] = rank < 0 ? NO_RANK : rank;
  }
  const rankAt = (part: number): number => {
    if (part + 2 > parts) return NO_RANK;
    const from = starts[part] as number;
    const to = starts[part + 2] as number;
    return to - from > tokenBytesMax ? NO_RANK : (ranks.get(bytes.slice(from, to)) ?? NO_RANK);
  };
  for (;;) {
    let lowest = NO_RANK;
    let at = -1;
    for (let i = 0; i < parts - 1; i++) {
      const score = scores[i] as number;
      if (score < lowest) {
        lowest = score;
        at = i;
      }
    }
    if (at < 0) return parts;
    starts.copyWithin(at + 1, at + 2, parts + 1);
    scores.copyWithin(at, at + 1, parts - 1);
    parts--;
    scores[at] = rankAt(at);
    if (at > 0) scores[at - 1] = rankAt(at - 1);
  }
}

/** Count with a heap of candidate merges. Drop a popped candidate that an earlier merge has invalidated. */
function countByHeap(bytes: string, vocabulary: BytePairVocabulary): number {
  const { ranks, tokenBytesMax } = vocabulary;
  const length = bytes.length;
  const next = new Int32Array(length + 1);
  const previous = new Int32Array(length + 1);
  const score = new Int32Array(length + 1).fill(-1);
  // There is at most one candidate per initial pair, and one more per merge.
  const heap = new MinHeap(2 * length);
  for (let i = 0; i <= length; i++) {
    next[i] = i + 1;
    previous[i] = i - 1;
  }
  for (let i = 0; i < length - 1; i++) {
    const rank = pairRank(bytes, i, vocabulary);
    score[i] = rank;
    if (rank >= 0) heap.push(rank * POSITIONS + i);
  }
  const rescore = (at: number): void => {
    const second = next[at] as number;
    const end = second >= length ? length + 1 : (next[second] as number);
    const short = end <= length && end - at <= tokenBytesMax;
    const rank = short ? (ranks.get(bytes.slice(at, end)) ?? -1) : -1;
    score[at] = rank;
    if (rank >= 0) heap.push(rank * POSITIONS + at);
  };
  let parts = length;
  for (let lowest = heap.pop(); lowest >= 0; lowest = heap.pop()) {
    const at = lowest % POSITIONS;
    if (score[at] !== (lowest - at) / POSITIONS) continue;
    const second = next[at] as number;
    const after = next[second] as number;
    next[at] = after;
    previous[after] = at;
    score[second] = -1;
    parts--;
    rescore(at);
    if ((previous[at] as number) >= 0) rescore(previous[at] as number);
  }
  return parts;
}

/** Priority queue of non-negative numbers, lowest first. */
class MinHeap {
  readonly #items: Float64Array;
  #size = 0;

  constructor(sizeMax: number) {
    this.#items = new Float64Array(sizeMax);
  }

  push(item: number): void {
    const items = this.#items;
    let at = this.#size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = items[parent] as number;
      if (above <= item) break;
      items[at] = above;
      at = parent;
    }
    items[at] = item;
  }

  /** Remove the lowest number. @returns -1 if the heap is empty */
  pop(): number {
    if (this.#size === 0) return -1;
    const items = this.#items;
    const lowest = items[0] as number;
    const item = items[--this.#size] as number;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.#size) break;
      if (child + 1 < this.#size && (items[child + 1] as number) < (items[child] as number)) child++;
      if ((items[child] as number) >= item) break;
      items[at] = items[child] as number;
      at = child;
    }
    items[at] = item;
    return lowest;
  }
}
