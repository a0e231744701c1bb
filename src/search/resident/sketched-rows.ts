import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import { CandidateRows, ROUNDING, type SlotQuery } from './candidate-rows.ts';
import type { Allowed, RowRange } from './keyword-rows.ts';
import { offerRows, type Refinement } from './offer-rows.ts';
import type { SlotRange } from './scan-turn.ts';
import { ScratchFile } from './scratch-file.ts';
import type { VectorBlocks } from './vector-blocks.ts';
import { VectorCentre } from './vector-centre.ts';
import { REST_BYTES, SIGNS_COUNTED, SKETCH_START, SKETCHED_BLOCK_BYTES, SKETCHED_ROWS } from './vector-layout.ts';
import { COMPARED_SHARE_MAX, type TableVectors } from './vector-rows.ts';

/** Rows whose cosine is estimated after signs were counted: a share of all, but at least a number, and some per wanted row. */
const ESTIMATED = { share: 1 / 400, least: 2_048, perWanted: 16 };
/**
 * Share of the margin of an estimate, of five standard deviations, that is kept: with three of them a search reads a quarter fewer
 * rows of the file, and misses hardly any beside those that the counts miss.
 */
const MARGIN_SHARE = 3 / 5;
/** Allowed rows up to which each is compared at once, since the rest of each is read from a file. */
const COMPARED_MAX = 1_000;

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
    this.#centre.take(vectors, (own) => this.#write(own));
  }

  #writeWaiting(): void {
    this.#centre.settle((own) => this.#write(own));
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
    return this.#vectors.sketches.start({ ...this.#sketched(), centre: this.#centre.value }, slots);
  }

  finishScan(): void {
    this.#vectors.finishScan();
  }

  estimate(queries: readonly SlotQuery[], allowed: Allowed): CandidateRows[] {
    if (allowed !== null) this.#vectors.sketches.setAllowed(this.#sketched().sketches, allowed);
    return queries.map((query) => this.#candidates(query, allowed !== null));
  }

  offer({ slot, lowerBounds }: SlotQuery, candidates: CandidateRows, range: RowRange): void {
    offerRows(range, candidates.from(lowerBounds.smallest - ROUNDING, range.best), this.#refinement(slot));
  }

  offerRows(slot: number, rows: Iterable<number>, range: RowRange): void {
    this.#writeWaiting();
    offerRows(range, rows, this.#refinement(slot));
  }

  release(): void {
    this.#centre.release();
    this.#vectors.releaseSketched(this.#blocks.splice(0));
    this.#file.close();
    this.#rows = 0;
  }

  #candidates(query: SlotQuery, isFiltered: boolean): CandidateRows {
    const { slot, lowerBounds } = query;
    const counts = this.#vectors.sketches.counts(this.#sketched(), slot, isFiltered);
    const { share, least, perWanted } = ESTIMATED;
    const reached = counts.reachedBy(Math.max(least, this.#rows * share, lowerBounds.limit * perWanted));
    const candidates = new CandidateRows();
    const shared = this.#centre.productWith(slot);
    for (const [nth, block] of this.#blocks.entries()) {
      const first = nth * SKETCHED_ROWS;
      const rows = Math.min(SKETCHED_ROWS, this.#rows - first);
      const count = counts.list(first, rows, { least: reached, below: SIGNS_COUNTED + 1 });
      this.#vectors.estimateSketched(block, count, slot);
      candidates.addListed(this.#vectors, query, { count, first, share: MARGIN_SHARE, shared });
    }
    return candidates;
  }

  #sketched(): { readonly sketches: readonly number[]; readonly rows: number } {
    return { sketches: this.#blocks.map((block) => block + SKETCH_START), rows: this.#rows };
  }

  /** Compute one row at a time, since a row that is not needed would be read from the file. */
  #refinement(slot: number): Refinement {
    const shared = this.#centre.productWith(slot);
    return { together: 1, cosinesOf: ([row]) => [this.#refine(row as number, slot) + shared] };
  }

  #refine(row: number, slot: number): number {
    this.#file.read(this.#rest, row * REST_BYTES);
    return this.#vectors.refineSketched(this.#blockOf(row), row % SKETCHED_ROWS, slot, this.#rest);
  }

  #blockOf(row: number): number {
    return this.#blocks[Math.floor(row / SKETCHED_ROWS)] as number;
  }
}
