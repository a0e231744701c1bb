import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import type { Allowed, RowRange } from './keyword-rows.ts';
import { ScratchFile } from './scratch-file.ts';
import type { VectorBlocks } from './vector-blocks.ts';
import { NO_SUM, REST_BYTES, SKETCHED_BLOCK_BYTES, SKETCHED_ROWS, SUMS_MAX } from './vector-layout.ts';
import { CandidateRows, type SlotQuery, type TableVectors } from './vector-rows.ts';

/** Rows of a search that are looked at closer: the largest of a share of all, a number, and some per wanted row. */
interface Selection {
  readonly share: number;
  readonly least: number;
  readonly perWanted: number;
}
/** Rows whose second sketch is read, and of them those whose cosine is estimated. */
const SKETCHED: Selection = { share: 1 / 80, least: 8_192, perWanted: 32 };
const ESTIMATED: Selection = { share: 1 / 512, least: 2_048, perWanted: 16 };
/** Full blocks whose sums tell how large the best are. */
const SAMPLED_BLOCKS = 16;
/** Allowed rows up to which each is compared at once. */
const COMPARED_MAX = 1_000;
/** Bound of the rounding errors of bounds, which are float32. */
const ROUNDING = 1e-6;

/**
 * Vectors of the rows of a large table: two sketches and the highest 4 bits of each number in memory, the rest in a
 * scratch file. A search sums the first sketches of all rows, adds the second ones where the sum is large, estimates the
 * cosines where it still is, and computes the cosines that may be among the best.
 */
export class SketchedRows implements TableVectors {
  readonly #vectors: VectorBlocks;
  readonly #file: ScratchFile;
  readonly #blocks: number[] = [];
  readonly #rest = new Uint8Array(REST_BYTES);
  #rows = 0;

  constructor(vectors: VectorBlocks, directory: string) {
    this.#vectors = vectors;
    this.#file = new ScratchFile(directory);
  }

  get memoryBytes(): number {
    return this.#blocks.length * SKETCHED_BLOCK_BYTES;
  }

  get comparedMax(): number {
    return COMPARED_MAX;
  }

  add(vectors: Float32Array): void {
    const count = vectors.length / INDEX_DIMENSIONS;
    const rests = new Uint8Array(count * REST_BYTES);
    const first = this.#rows;
    for (let nth = 0; nth < count; nth++) {
      if (this.#rows === this.#blocks.length * SKETCHED_ROWS) this.#blocks.push(this.#vectors.allocateSketched());
      const vector = vectors.subarray(nth * INDEX_DIMENSIONS, (nth + 1) * INDEX_DIMENSIONS);
      const rest = rests.subarray(nth * REST_BYTES, (nth + 1) * REST_BYTES);
      this.#vectors.writeSketched(this.#blockOf(this.#rows), this.#rows % SKETCHED_ROWS, vector, rest);
      this.#rows++;
    }
    this.#file.write(rests, first * REST_BYTES);
  }

  setQuery(slot: number, vector: Float32Array): number {
    return this.#vectors.setQuery(slot, vector);
  }

  estimate(queries: readonly SlotQuery[], allowed: Allowed): CandidateRows[] {
    const leastSums = this.#leastSums(queries, allowed);
    this.#vectors.scanSketches(this.#blocks, this.#rows, leastSums);
    return queries.map((query) => this.#candidates(query, allowed));
  }

  offer({ slot, lowerBounds }: SlotQuery, candidates: CandidateRows, { best, first }: RowRange): void {
    for (const { row, bound } of candidates.from(lowerBounds.smallest - ROUNDING)) {
      // Those that follow have smaller bounds.
      if (bound < best.threshold - ROUNDING) return;
      best.offer(first + row, this.#refine(row, slot));
    }
  }

  offerRows(slot: number, rows: Iterable<number>, { best, first }: RowRange): void {
    for (const row of rows) best.offer(first + row, this.#refine(row, slot));
  }

  release(): void {
    this.#vectors.releaseSketched(this.#blocks.splice(0));
    this.#file.close();
    this.#rows = 0;
  }

  /** Find the sums, by query, from which on the second sketch is to be added. */
  #leastSums(queries: readonly SlotQuery[], allowed: Allowed): number[] {
    const wanted = queries.map(({ lowerBounds }) => this.#rowsOf(SKETCHED, lowerBounds.limit));
    if (wanted.every((rows) => rows >= this.#rows)) return wanted.map(() => 0);
    const sampled = this.#sampleBlocks(allowed);
    const rows = sampled.length * SKETCHED_ROWS;
    const none = queries.map(() => NO_SUM);
    this.#vectors.scanSketches(
      sampled.map((nth) => this.#blocks[nth] as number),
      Math.min(rows, this.#rows),
      none,
    );
    return queries.map(({ slot }, nth) => {
      const counts = this.#countSums(sampled, { slot, allowed, from: 0 });
      return leastOf(counts, (wanted[nth] as number) * Math.min(1, rows / this.#rows));
    });
  }

  /** Choose the blocks whose sums tell how large the best are: some full ones, but all if they have few allowed rows. */
  #sampleBlocks(allowed: Allowed): readonly number[] {
    const full = Math.floor(this.#rows / SKETCHED_ROWS);
    const count = Math.min(full, SAMPLED_BLOCKS);
    const some = Array.from({ length: count }, (_, nth) => Math.floor((nth * full) / count));
    let found = 0;
    for (const nth of some) {
      for (let row = nth * SKETCHED_ROWS; row < (nth + 1) * SKETCHED_ROWS; row++) found += allowed?.[row] ?? 1;
    }
    return found > (count * SKETCHED_ROWS) / 2 ? some : [...this.#blocks.keys()];
  }

  #candidates({ slot, margin, lowerBounds }: SlotQuery, allowed: Allowed): CandidateRows {
    const wanted = this.#rowsOf(ESTIMATED, lowerBounds.limit);
    const counts = this.#countSums([...this.#blocks.keys()], { slot, allowed, from: SUMS_MAX });
    const least = SUMS_MAX + (wanted >= this.#rows ? 0 : leastOf(counts, wanted));
    const candidates = new CandidateRows();
    this.#eachBlock((block, first, rows) => {
      const found = this.#vectors.selectSums(block, rows, slot, least);
      const selected = allowed === null ? found : found.filter((at) => allowed[first + at] === 1);
      if (selected.length === 0) return;
      const { bounds, margins } = this.#vectors.estimateSketched(block, selected, slot);
      for (let nth = 0; nth < selected.length; nth++) {
        const upper = bounds[nth] as number;
        if (upper < lowerBounds.smallest - ROUNDING) continue;
        const at = selected[nth] as number;
        candidates.add(first + at, upper);
        const lower = upper - 2 * ((margins[at] as number) + margin);
        if (lower > lowerBounds.smallest) lowerBounds.add(lower);
      }
    });
    return candidates;
  }

  #rowsOf({ share, least, perWanted }: Selection, limit: number): number {
    return Math.max(least, this.#rows * share, limit * perWanted);
  }

  #eachBlock(use: (block: number, first: number, rows: number) => void): void {
    for (let first = 0; first < this.#rows; first += SKETCHED_ROWS) {
      use(this.#blockOf(first), first, Math.min(SKETCHED_ROWS, this.#rows - first));
    }
  }

  /**
   * Count the allowed rows of each sum in some blocks.
   *
   * @param query.from sum from which on they are counted, without it
   */
  #countSums(
    blocks: readonly number[],
    { slot, allowed, from }: { readonly slot: number; readonly allowed: Allowed; readonly from: number },
  ): Uint32Array {
    const counts = new Uint32Array(SUMS_MAX);
    for (const nth of blocks) {
      const [block, first] = [this.#blocks[nth] as number, nth * SKETCHED_ROWS];
      const rows = Math.min(SKETCHED_ROWS, this.#rows - first);
      const sums = this.#vectors.sums(block, rows, slot);
      for (const at of this.#vectors.selectSums(block, rows, slot, from)) {
        if (allowed !== null && allowed[first + at] !== 1) continue;
        const sum = (sums[at] as number) - from;
        counts[sum] = (counts[sum] as number) + 1;
      }
    }
    return counts;
  }

  #refine(row: number, slot: number): number {
    this.#file.read(this.#rest, row * REST_BYTES);
    return this.#vectors.refineSketched(this.#blockOf(row), row % SKETCHED_ROWS, slot, this.#rest);
  }

  #blockOf(row: number): number {
    return this.#blocks[Math.floor(row / SKETCHED_ROWS)] as number;
  }
}

/** Find the sum that at least `wanted` rows reach; 0: fewer do. */
function leastOf(counts: Uint32Array, wanted: number): number {
  let found = 0;
  for (let sum = SUMS_MAX - 1; sum > 0; sum--) {
    found += counts[sum] as number;
    if (found >= wanted) return sum;
  }
  return 0;
}
