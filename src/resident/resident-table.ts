import { INDEX_DIMENSIONS } from '../projection/resize.ts';
import type { Allowed } from './best-rows.ts';
import { ByteStore } from './byte-store.ts';
import { FileStore } from './file-store.ts';
import { grown } from './grow.ts';
import { KeywordRows } from './keywords/keyword-rows.ts';
import { ROWS_MAX } from './keywords/postings.ts';
import type { RowBatch, RowKeys, RowText, TableSize, Utf8Column } from './protocol.ts';
import { RowKeySet } from './row-key-set.ts';
import { ExactVectors } from './vectors/exact-vectors.ts';
import type { SketchedBlocks } from './vectors/sketched-blocks.ts';
import { SketchedVectors } from './vectors/sketched-vectors.ts';
import type { TableVectors } from './vectors/table-vectors.ts';

/** Estimated memory of one document id in both maps, in bytes. */
const DOCUMENT_BYTES = 160;
const decoder = new TextDecoder();

/** Rows of one table in memory, in insertion order. */
export class ResidentTable {
  readonly keywords = new KeywordRows();
  readonly vectors: TableVectors;
  /** Text and locator of each row. */
  readonly #passages: ByteStore | FileStore;
  readonly #documentIds: string[] = [];
  readonly #documentNumbers = new Map<string, number>();
  /** Chunk ids, by row, that don't have the form `document_generation_index`. */
  readonly #oddChunkIds = new Map<number, string>();
  #documents = new Uint32Array(0);
  #generations = new Float64Array(0);
  #chunkIndexes = new Int32Array(0);
  /** By row: 1 for boilerplate. */
  #boilerplate = new Uint8Array(0);
  /** By row: 1 until the row is removed. */
  #present = new Uint8Array(0);
  /** Highest generation of any added row. */
  #lastGeneration = Number.NEGATIVE_INFINITY;
  #rows = 0;
  #removed = 0;

  /**
   * @param scratchIn directory for the files of a large table: its texts and most bits of its vectors; null for a small
   *   table
   */
  constructor(sketched: SketchedBlocks, scratchIn: string | null = null) {
    this.vectors = scratchIn === null ? new ExactVectors() : new SketchedVectors(sketched, scratchIn);
    this.#passages = scratchIn === null ? new ByteStore() : new FileStore(scratchIn);
  }

  /** Number of rows, including removed ones. */
  get rowCount(): number {
    return this.#rows;
  }

  get size(): TableSize {
    const parts = [this.keywords, this.vectors, this.#passages];
    const columns = [this.#documents, this.#generations, this.#chunkIndexes, this.#boilerplate, this.#present];
    const memoryBytes =
      parts.reduce((sum, part) => sum + part.memoryBytes, 0) +
      columns.reduce((sum, column) => sum + column.byteLength, 0) +
      this.#documentIds.length * DOCUMENT_BYTES;
    return { rows: this.#rows, removedRows: this.#removed, memoryBytes };
  }

  /** Append the rows `[from .. to)` of a batch. @throws RangeError if the table is full */
  add(batch: RowBatch, from: number, to: number): void {
    if (this.#rows + to - from > ROWS_MAX) throw new RangeError(`a table cannot have more than ${ROWS_MAX} rows`);
    this.#reserve(this.#rows + to - from);
    this.vectors.add(batch.vectors.subarray(from * INDEX_DIMENSIONS, to * INDEX_DIMENSIONS));
    let [document, documentAt] = [0, -1];
    for (let at = from; at < to; at++) {
      const row = this.#rows++;
      // Look up the document only when it changes, since chunks of a document are usually adjacent.
      if (documentAt === -1 || !isSameText(batch.documentIds, documentAt, at)) {
        document = this.#documentNumber(decoder.decode(bytesAt(batch.documentIds, at)));
        documentAt = at;
      }
      this.#documents[row] = document;
      const generation = Number(batch.generations[at]);
      this.#generations[row] = generation;
      if (generation > this.#lastGeneration) this.#lastGeneration = generation;
      this.#chunkIndexes[row] = batch.chunkIndexes[at] as number;
      this.#present[row] = 1;
      const chunkId = decoder.decode(bytesAt(batch.chunkIds, at));
      if (chunkId !== this.#usualChunkId(row)) this.#oddChunkIds.set(row, chunkId);
      this.#passages.add(bytesAt(batch.texts, at));
      this.#passages.add(bytesAt(batch.locators, at));
      this.#boilerplate[row] = batch.boilerplate[at] as number;
    }
    this.keywords.addAll(batch.tokens, from, to);
  }

  /** Return the positions in `keys` of the keys that no present row has. */
  findUnknown({ generations, chunkIndexes }: RowKeys): Uint32Array {
    const wanted = new Set(Array.from(generations, Number));
    for (const generation of wanted) if (generation > this.#lastGeneration) wanted.delete(generation);
    if (wanted.size === 0) return Uint32Array.from(generations.keys());
    const known = new RowKeySet();
    for (let row = 0; row < this.#rows; row++) {
      const generation = this.#generations[row] as number;
      if (wanted.has(generation) && this.#present[row] === 1) known.add(generation, this.#chunkIndexes[row] as number);
    }
    const unknown: number[] = [];
    for (const [at, generation] of generations.entries()) {
      if (!known.has(Number(generation), chunkIndexes[at] as number)) unknown.push(at);
    }
    return Uint32Array.from(unknown);
  }

  /** Remove those of the first `rows` rows whose key is not in `keys`, and erase their texts. */
  keepOnly(keys: RowKeys, rows: number): void {
    const kept = RowKeySet.of(keys);
    const removed: number[] = [];
    for (let row = 0; row < rows; row++) {
      if (this.#present[row] !== 1) continue;
      if (kept.has(this.#generations[row] as number, this.#chunkIndexes[row] as number)) continue;
      removed.push(row);
      this.#present[row] = 0;
      this.#passages.erase(2 * row);
      this.#passages.erase(2 * row + 1);
    }
    if (removed.length === 0) return;
    this.keywords.remove(removed);
    this.#removed += removed.length;
  }

  /** Find the rows that a search may return. @param documentIds documents to search; null for all */
  allowedRows(documentIds: readonly string[] | null): Allowed {
    if (documentIds === null) return this.#removed === 0 ? null : this.#present.subarray(0, this.#rows);
    const wanted = this.#numbersOf(documentIds);
    const allowed = new Uint8Array(this.#rows);
    for (let row = 0; row < this.#rows; row++) {
      allowed[row] = (wanted[this.#documents[row] as number] as number) & (this.#present[row] as number);
    }
    return allowed;
  }

  /** List the rows that are not removed. */
  presentRows(): number[] {
    const present: number[] = [];
    for (let row = 0; row < this.#rows; row++) if (this.#present[row] === 1) present.push(row);
    return present;
  }

  chunkIdOf(row: number): string {
    return this.#oddChunkIds.get(row) ?? this.#usualChunkId(row);
  }

  documentIdOf(row: number): string {
    return this.#documentIds[this.#documents[row] as number] as string;
  }

  generationOf(row: number): number {
    return this.#generations[row] as number;
  }

  chunkIndexOf(row: number): number {
    return this.#chunkIndexes[row] as number;
  }

  isBoilerplate(row: number): boolean {
    return this.#boilerplate[row] === 1;
  }

  textOf(row: number): RowText | null {
    if (this.#present[row] !== 1) return null;
    const [text, locator] = [this.#passages.get(2 * row), this.#passages.get(2 * row + 1)];
    return { text: decoder.decode(text), locator: decoder.decode(locator) };
  }

  /** Release memory and files. Do not use the table afterwards. */
  release(): void {
    this.vectors.release();
    if (this.#passages instanceof FileStore) this.#passages.release();
  }

  #usualChunkId(row: number): string {
    return `${this.documentIdOf(row)}_${this.#generations[row]}_${this.#chunkIndexes[row]}`;
  }

  /** Flag documents by number. @returns 1 for each given document: Uint8Array [documents] */
  #numbersOf(documentIds: readonly string[]): Uint8Array {
    const marked = new Uint8Array(this.#documentIds.length);
    for (const id of documentIds) {
      const number = this.#documentNumbers.get(id);
      if (number !== undefined) marked[number] = 1;
    }
    return marked;
  }

  #documentNumber(id: string): number {
    const known = this.#documentNumbers.get(id);
    if (known !== undefined) return known;
    this.#documentNumbers.set(id, this.#documentIds.length);
    return this.#documentIds.push(id) - 1;
  }

  #reserve(rows: number): void {
    this.#documents = grown(this.#documents, rows);
    this.#generations = grown(this.#generations, rows);
    this.#chunkIndexes = grown(this.#chunkIndexes, rows);
    this.#boilerplate = grown(this.#boilerplate, rows);
    this.#present = grown(this.#present, rows);
  }
}

function bytesAt({ offsets, bytes }: Utf8Column, at: number): Uint8Array {
  return bytes.subarray(offsets[at], offsets[at + 1]);
}

function isSameText({ offsets, bytes }: Utf8Column, a: number, b: number): boolean {
  const [fromA, fromB] = [offsets[a] as number, offsets[b] as number];
  const length = (offsets[a + 1] as number) - fromA;
  if ((offsets[b + 1] as number) - fromB !== length) return false;
  for (let at = length - 1; at >= 0; at--) if (bytes[fromA + at] !== bytes[fromB + at]) return false;
  return true;
}
