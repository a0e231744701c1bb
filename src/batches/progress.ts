import { LRUCache } from 'lru-cache';
import { freeMemory } from '../platform/free-memory.ts';
import type { ChunkFacts, StoredChunk } from './chunk-object.ts';
import type { Plan } from './plan.ts';
import type { GroupChoice } from './progress-store.ts';

/** Cache size for vectors of recently stored chunks, which the output writer reads. */
const VECTORS_BYTES_MAX = 16 * 1024 * 1024;

interface Waiting {
  readonly facts: Promise<ChunkFacts | null>;
  readonly settle: (facts: ChunkFacts | null) => void;
  readonly fail: (reason: unknown) => void;
}

/** State of a batch's chunks in one attempt, and the number of requests that they complete. */
export class Progress {
  readonly #waiting: readonly Waiting[];
  readonly #vectors = new LRUCache<number, Float32Array>({
    maxSize: VECTORS_BYTES_MAX,
    sizeCalculation: (vectors) => vectors.byteLength + 1,
    dispose: freeMemory,
  });
  /** Requests per chunk, by position in the plan. */
  readonly #requestsOf: readonly (readonly number[])[];
  /** Number of chunks that each request is waiting for. */
  readonly #missing: Uint16Array;
  readonly #hasFailed: Uint8Array;
  readonly #plan: Plan;
  #completed = 0;
  #failed = 0;

  /** @param choices models of the plan's groups; requests of a group without a model have failed */
  constructor(plan: Plan, choices: readonly GroupChoice[]) {
    this.#plan = plan;
    this.#waiting = plan.chunks.map(() => {
      const { promise, resolve, reject } = Promise.withResolvers<ChunkFacts | null>();
      promise.catch(() => undefined);
      return { facts: promise, settle: resolve, fail: reject };
    });
    const requestsOf: number[][] = plan.chunks.map(() => []);
    this.#missing = new Uint16Array(plan.lines.length);
    this.#hasFailed = new Uint8Array(plan.lines.length);
    for (const [place, line] of plan.lines.entries()) {
      if ('fault' in line) {
        this.#failed++;
        continue;
      }
      const chunks = new Set(line.texts.map((text) => plan.texts[text]?.chunk as number));
      const [first] = chunks;
      if (choices[plan.chunks[first as number]?.group as number]?.fault) {
        this.#failed++;
        continue;
      }
      for (const chunk of chunks) requestsOf[chunk]?.push(place);
      this.#missing[place] = chunks.size;
    }
    this.#requestsOf = requestsOf;
  }

  get counts() {
    return { total: this.#plan.lines.length, completed: this.#completed, failed: this.#failed };
  }

  /** Wait for a chunk. Return its facts once it is stored, or null once it is certain not to be embedded. */
  factsOf(chunk: number): Promise<ChunkFacts | null> {
    return (this.#waiting[chunk] as Waiting).facts;
  }

  /** Return the vectors of a chunk if still cached. */
  vectorsOf(chunk: number): Float32Array | undefined {
    return this.#vectors.get(chunk);
  }

  keepVectors(chunk: number, vectors: Float32Array): void {
    this.#vectors.set(chunk, vectors);
  }

  /** Count the requests that a chunk completes. Call this once per chunk, before `settle`. */
  count(chunk: number, { faults }: ChunkFacts): void {
    const refused = new Set(faults.map(([row]) => row));
    for (const place of this.#requestsOf[chunk] ?? []) {
      const line = this.#plan.lines[place];
      if (line === undefined || 'fault' in line) continue;
      const isRefused = line.texts.some((text) => {
        const planned = this.#plan.texts[text];
        return planned?.chunk === chunk && refused.has(planned.row);
      });
      if (isRefused) this.#hasFailed[place] = 1;
      this.#missing[place] = (this.#missing[place] as number) - 1;
      if (this.#missing[place] !== 0) continue;
      if (this.#hasFailed[place] === 1) this.#failed++;
      else this.#completed++;
    }
  }

  /** Hand a new chunk to the writer. */
  settle(chunk: number, { facts, vectors }: StoredChunk): void {
    this.keepVectors(chunk, vectors);
    this.#waiting[chunk]?.settle(facts);
  }

  /** Hand a chunk of an earlier attempt to the writer, which reads its vectors when needed. */
  settleStored(chunk: number, facts: ChunkFacts): void {
    this.#waiting[chunk]?.settle(facts);
  }

  /** Let the writer continue without the chunks that are not stored. */
  skipRest(): void {
    for (const waiting of this.#waiting) waiting.settle(null);
  }

  /** Stop the writer after a failure of the attempt. */
  abort(reason: unknown): void {
    for (const waiting of this.#waiting) waiting.fail(reason);
  }
}
