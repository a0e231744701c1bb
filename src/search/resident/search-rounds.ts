import { messageOf, type ThreadReply } from '../../platform/dedicated-thread.ts';
import type { Resolved } from './document-list.ts';
import type { Operations } from './protocol.ts';
import type { ResidentTable } from './resident-table.ts';
import { type StartedSearch, searchKeywords, startVectorSearch } from './search-tables.ts';
import { QUERY_SLOTS } from './vector-layout.ts';

/** Call whose list of documents is found. */
export interface ResolvedCall<Name extends 'searchKeywords' | 'searchVectors'> {
  readonly id: number;
  readonly name: Name;
  readonly argument: Resolved<Operations[Name]['argument']>;
}
type KeywordCall = ResolvedCall<'searchKeywords'>;
type VectorCall = ResolvedCall<'searchVectors'>;
export type SearchCall = KeywordCall | VectorCall;

/** Queries that read the same vectors together at most: those of two rounds are in memory at the same time. */
const TOGETHER_MAX = QUERY_SLOTS / 2;

/** Searches of the same vectors. */
interface Round {
  readonly calls: readonly VectorCall[];
  readonly firstSlot: number;
  readonly search: StartedSearch;
}

/**
 * Answers searches in rounds. Those of the same vectors which wait at the same time read them together. While this thread
 * answers the searches of one round, and then searches by terms, helping threads scan the vectors for the next one.
 */
export class SearchRounds {
  readonly #tables: ReadonlyMap<number, ResidentTable>;
  readonly #send: (reply: ThreadReply) => void;
  #keywords: KeywordCall[] = [];
  #vectors: VectorCall[] = [];
  /** Round whose vectors were scanned; its searches are not answered yet. */
  #scanned: Round | null = null;

  constructor(tables: ReadonlyMap<number, ResidentTable>, send: (reply: ThreadReply) => void) {
    this.#tables = tables;
    this.#send = send;
  }

  /** Add a search to those that `run` answers. */
  add(call: SearchCall): void {
    if (call.name === 'searchKeywords') this.#keywords.push(call);
    else this.#vectors.push(call);
  }

  /** Answer the searches whose vectors were scanned. It must be called before anything is done with tables. */
  complete(): void {
    const round = this.#scanned;
    this.#scanned = null;
    if (round) this.#reply(round.calls, () => round.search.answer());
  }

  /**
   * Answer the searches that wait, but for those of the last scan, if their answers can wait until the next one has begun.
   *
   * @returns true if there are such: `run` or `complete` must follow
   */
  run(): boolean {
    const [keywords, vectors] = [this.#keywords, this.#vectors];
    [this.#keywords, this.#vectors] = [[], []];
    const [first, ...others] = groupAlike(vectors);
    this.#next(first, keywords);
    for (const calls of others) this.#next(calls, []);
    return this.#scanned !== null;
  }

  /** Begin with a round, and answer meanwhile the round before and searches by terms. */
  #next(calls: readonly VectorCall[] | undefined, keywords: readonly KeywordCall[]): void {
    const round = calls ? this.#start(calls) : null;
    this.complete();
    for (const call of keywords) this.#reply([call], () => [searchKeywords(this.#tables, call.argument)]);
    if (round === null) return;
    try {
      round.search.finishScan();
    } catch (error) {
      this.#refuse(round.calls, error);
      return;
    }
    this.#scanned = round;
    if (!round.search.isHelped || !round.search.isOneScan) this.complete();
  }

  #start(calls: readonly VectorCall[]): Round | null {
    const [{ argument }] = calls as [VectorCall];
    const firstSlot = this.#scanned?.firstSlot === 0 ? TOGETHER_MAX : 0;
    const vectors = calls.map((call) => call.argument.vector);
    try {
      return { calls, firstSlot, search: startVectorSearch(this.#tables, argument, vectors, firstSlot) };
    } catch (error) {
      this.#refuse(calls, error);
      return null;
    }
  }

  /** Answer calls with the results of one function, or each with its error. */
  #reply(calls: readonly SearchCall[], answers: () => readonly unknown[]): void {
    try {
      const results = answers();
      for (const [nth, { id }] of calls.entries()) this.#send({ id, result: results[nth] });
    } catch (error) {
      this.#refuse(calls, error);
    }
  }

  #refuse(calls: readonly SearchCall[], error: unknown): void {
    for (const { id } of calls) this.#send({ id, error: messageOf(error) });
  }
}

/** Group searches that differ in their vectors only. */
function groupAlike(calls: readonly VectorCall[]): VectorCall[][] {
  const keyOf = ({ argument: { tables, documents, limit, texts } }: VectorCall, nth: number) =>
    documents === null ? `${limit}, ${texts}: ${tables.join()}` : nth;
  return [...Map.groupBy(calls, keyOf).values()].flatMap((alike) =>
    Array.from({ length: Math.ceil(alike.length / TOGETHER_MAX) }, (_, nth) =>
      alike.slice(nth * TOGETHER_MAX, (nth + 1) * TOGETHER_MAX),
    ),
  );
}
