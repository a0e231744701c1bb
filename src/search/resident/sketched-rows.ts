import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import type { Allowed, RowRange } from './keyword-rows.ts';
import type { SlotRange } from './scan-turn.ts';
import { ScratchFile } from './scratch-file.ts';
import type { CountedBlock, VectorBlocks } from './vector-blocks.ts';
import { VectorCentre } from './vector-centre.ts';
import { REST_BYTES, SKETCHED_BLOCK_BYTES, SKETCHED_ROWS } from './vector-layout.ts';
import { CandidateRows, COMPARED_SHARE_MAX, type SlotQuery, type TableVectors } from './vector-rows.ts';

/** Rows whose cosine is estimated after signs were counted: a share of all, but at least a number, and some per wanted row. */
const ESTIMATED = { share: 1 / 400, least: 2_048, perWanted: 16 };
/** A table without a filter has one block in this many looked at first, for how large the largest counts are. */
const SAMPLED_OF = 8;
/** Blocks up to which all tell it. */
const SAMPLED_MIN = 64;
/** Allowed rows up to which each is compared at once, since the rest of each is read from a file. */
const COMPARED_MAX = 1_000;
/** Bound of the rounding errors of bounds, which are float32. */
const ROUNDING = 1e-6;

/**
 * Vectors of the rows of a large table: the signs of their components and the highest 4 bits of each number in memory, the
 * rest in a scratch file. A search counts, for all rows, the signs that are those of the query, estimates the cosines of the
 * rows with the largest counts, and computes the cosines that may be among the best.
 */
export class SketchedRows implements TableVectors {
  readonly #vectors: VectorBlocks;
  readonly #file: ScratchFile;
  readonly #centre: VectorCentre;
  readonly #blocks: number[] = [];
  readonly #rest = new Uint8Array(REST_BYTES);
  #rows = 0;

  constructor(vectors: VectorBlocks, directory: string) {
    this.#vectors = vectors;
    this.#file = new ScratchFile(directory);
    this.#centre = new VectorCentre(vectors);
  }

  get memoryBytes(): number {
    return Math.ceil((this.#rows + this.#centre.waitingRows) / SKETCHED_ROWS) * SKETCHED_BLOCK_BYTES;
  }

  get comparedMax(): number {
    return Math.min(COMPARED_MAX, this.#rows * COMPARED_SHARE_MAX);
  }

  add(vectors: Float32Array): void {
    for (const own of this.#centre.take(vectors)) this.#write(own);
  }

  #writeWaiting(): void {
    for (const own of this.#centre.settle()) this.#write(own);
  }

  #write(vectors: Float32Array): void {
    const centre = this.#centre.value;
    const count = vectors.length / INDEX_DIMENSIONS;
    const rests = new Uint8Array(count * REST_BYTES);
    const first = this.#rows;
    for (let nth = 0; nth < count; nth++) {
      if (this.#rows === this.#blocks.length * SKETCHED_ROWS) this.#blocks.push(this.#vectors.allocateSketched());
      const vector = vectors.subarray(nth * INDEX_DIMENSIONS, (nth + 1) * INDEX_DIMENSIONS);
      const rest = rests.subarray(nth * REST_BYTES, (nth + 1) * REST_BYTES);
      this.#vectors.writeSketched(this.#blockOf(this.#rows), this.#rows % SKETCHED_ROWS, { vector, centre }, rest);
      this.#rows++;
    }
    this.#file.write(rests, first * REST_BYTES);
  }

  setQuery(slot: number, vector: Float32Array): void {
    this.#vectors.setQuery(slot, vector);
  }

  start(slots: SlotRange): boolean {
    this.#writeWaiting();
    this.#vectors.prepareFor(this.#centre.value, slots);
    const table = { blocks: this.#blocks, rows: this.#rows, centre: this.#centre.value };
    return this.#vectors.startCounting(table, slots);
  }

  finishScan(): void {
    this.#vectors.finishScan();
  }

  estimate(queries: readonly SlotQuery[], allowed: Allowed): CandidateRows[] {
    if (allowed !== null) {
      for (const { block, first, rows } of this.#everyBlock()) {
        this.#vectors.setAllowed(block, allowed.subarray(first, first + rows));
      }
    }
    return queries.map((query) => this.#candidates(query, allowed !== null));
  }

  offer({ slot, lowerBounds }: SlotQuery, candidates: CandidateRows, { best, first }: RowRange): void {
    const shared = this.#centre.productWith(slot);
    for (const { row, bound } of candidates.from(lowerBounds.smallest - ROUNDING)) {
      // Those that follow have smaller bounds.
      if (bound < best.threshold - ROUNDING) return;
      best.offer(first + row, this.#refine(row, slot) + shared);
    }
  }

  offerRows(slot: number, rows: Iterable<number>, { best, first }: RowRange): void {
    this.#writeWaiting();
    const shared = this.#centre.productWith(slot);
    for (const row of rows) best.offer(first + row, this.#refine(row, slot) + shared);
  }

  release(): void {
    this.#vectors.releaseSketched(this.#blocks.splice(0));
    this.#file.close();
    this.#rows = 0;
  }

  #candidates({ slot, lowerBounds }: SlotQuery, isFiltered: boolean): CandidateRows {
    const blocks = this.#everyBlock().map((each) => ({ ...each, slot, isFiltered }));
    const { share, least, perWanted } = ESTIMATED;
    const reached = this.#countReached(blocks, Math.max(least, this.#rows * share, lowerBounds.limit * perWanted));
    const candidates = new CandidateRows();
    const shared = this.#centre.productWith(slot);
    const { perRow, query } = this.#vectors.marginsOf(slot);
    for (const each of blocks) {
      const { block, first } = each;
      const count = this.#vectors.estimateReaching(each, reached);
      for (let nth = 0; nth < count; nth++) {
        const upper = this.#vectors.reachedBound(nth) + shared;
        if (upper < lowerBounds.smallest - ROUNDING) continue;
        const row = this.#vectors.reachedRow(nth);
        candidates.add(first + row, upper);
        const lower = upper - 2 * (this.#vectors.marginOf(block, row) * perRow + query);
        if (lower > lowerBounds.smallest) lowerBounds.add(lower);
      }
    }
    return candidates;
  }

  /** Find the largest count of signs that about `wanted` rows reach; 0: there are fewer rows. */
  #countReached(blocks: readonly CountedBlock[], wanted: number): number {
    const isSampled = blocks.length > SAMPLED_MIN && blocks[0]?.isFiltered === false;
    const sample = isSampled ? blocks.filter((_, nth) => nth % SAMPLED_OF === 0) : blocks;
    const sampled = (wanted * sample.length) / blocks.length;
    let reached = 0;
    for (let step = 128; step > 0; step >>= 1) {
      const rows = sample.reduce((sum, block) => sum + this.#vectors.countReaching(block, reached + step), 0);
      if (rows >= sampled) reached += step;
    }
    return reached;
  }

  #everyBlock(): { readonly block: number; readonly first: number; readonly rows: number }[] {
    return this.#blocks.map((block, nth) => {
      const first = nth * SKETCHED_ROWS;
      return { block, first, rows: Math.min(SKETCHED_ROWS, this.#rows - first) };
    });
  }

  #refine(row: number, slot: number): number {
    this.#file.read(this.#rest, row * REST_BYTES);
    return this.#vectors.refineSketched(this.#blockOf(row), row % SKETCHED_ROWS, slot, this.#rest);
  }

  #blockOf(row: number): number {
    return this.#blocks[Math.floor(row / SKETCHED_ROWS)] as number;
  }
}
