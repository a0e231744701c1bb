import type { UpstreamCaps } from './protocols/protocol.ts';
import type { ProviderCall, ProviderReply } from './provider.ts';

export interface DispatcherOptions {
  /** Upstream calls under way at once. */
  readonly concurrencyMax: number;
  /** Texts that may wait for a free call. */
  readonly queuedTextsMax: number;
  capsOf(call: ProviderCall): UpstreamCaps;
  /** One upstream call within the caps, its retries included. */
  send(batch: ProviderCall): Promise<ProviderReply>;
  /** Whether an error says that the texts themselves are at fault. */
  isRejection(error: unknown): boolean;
  overloaded(): Error;
}

/** One call of `embed`. */
interface Group {
  readonly call: ProviderCall;
  readonly resolve: (reply: ProviderReply) => void;
  readonly reject: (error: unknown) => void;
  readonly onAbort: () => void;
  /** Upstream calls that carry texts of it. */
  readonly flights: Set<Flight>;
  /** Texts that wait. */
  waiting: number;
  /** Texts without a vector. */
  missing: number;
  reply: { readonly vectors: Float32Array; readonly tokens: number[] } | null;
  isOver: boolean;
}

/** Texts [from, to) of a group. */
interface Piece {
  readonly group: Group;
  from: number;
  readonly to: number;
}

/** One upstream call. */
interface Flight {
  readonly pieces: readonly Piece[];
  readonly controller: AbortController;
  /** Groups that still want it. */
  wanted: number;
}

/** What waits and may travel together. */
interface Lane {
  readonly key: string;
  readonly merges: boolean;
  readonly pieces: Fifo<Piece>;
}

/**
 * Concurrency and batching in one. While a call is free, a group goes out at once, split by the caps. While none is,
 * groups wait; whenever a call comes back, the next one takes the texts of the group at the head and fills up with
 * those of others of the same model and task type. So calls are merged only when that costs nobody time.
 *
 * A group that needs several calls goes to the end of its line after each; lines take turns.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #lanes = new Map<string, Lane>();
  /** Lanes with pieces, in the order of their turns. */
  readonly #turns = new Fifo<Lane>();
  readonly #groups = new Set<Group>();
  #inFlight = 0;
  #queuedTexts = 0;
  #closedBy: Error | null = null;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get queuedTexts(): number {
    return this.#queuedTexts;
  }

  /** @throws what `send` throws; `overloaded()`; the signal's reason once it is aborted */
  embed(call: ProviderCall): Promise<ProviderReply> {
    return new Promise((resolve, reject) => {
      const texts = call.texts.length;
      if (call.signal.aborted) return reject(call.signal.reason);
      if (this.#closedBy) return reject(this.#closedBy);
      const isBusy = this.#inFlight >= this.#options.concurrencyMax;
      if (isBusy && this.#queuedTexts + texts > this.#options.queuedTextsMax) return reject(this.#options.overloaded());
      const group: Group = {
        call,
        resolve,
        reject,
        onAbort: () => this.#fail(group, call.signal.reason),
        flights: new Set(),
        waiting: 0,
        missing: texts,
        reply: null,
        isOver: false,
      };
      call.signal.addEventListener('abort', group.onAbort, { once: true });
      this.#groups.add(group);
      this.#enqueue({ group, from: 0, to: texts }, true);
      this.#pump();
    });
  }

  /** Fails everything that waits or is under way, and all that comes later. */
  close(reason: Error): void {
    this.#closedBy = reason;
    for (const group of this.#groups) this.#fail(group, reason);
  }

  #enqueue(piece: Piece, merges: boolean): void {
    const { model, taskType } = piece.group.call;
    const key = `${model.id}\n${taskType}\n${merges}`;
    let lane = this.#lanes.get(key);
    if (!lane) {
      lane = { key, merges, pieces: new Fifo() };
      this.#lanes.set(key, lane);
      this.#turns.push(lane);
    }
    lane.pieces.push(piece);
    const texts = piece.to - piece.from;
    piece.group.waiting += texts;
    this.#queuedTexts += texts;
  }

  #pump(): void {
    while (this.#inFlight < this.#options.concurrencyMax) {
      const lane = this.#turns.shift();
      if (!lane) return;
      const pieces = this.#take(lane);
      if (headOf(lane)) this.#turns.push(lane);
      else this.#lanes.delete(lane.key);
      if (pieces.length > 0) void this.#fly(pieces);
    }
  }

  /** The pieces of the next upstream call: of the head, then of those behind it as far as the caps reach. */
  #take(lane: Lane): Piece[] {
    const taken: Piece[] = [];
    let piece = headOf(lane);
    if (!piece) return taken;
    const caps = this.#options.capsOf(piece.group.call);
    let itemsLeft = caps.itemsMax;
    let tokensLeft = caps.tokensMax ?? Number.POSITIVE_INFINITY;
    while (piece && itemsLeft > 0 && (lane.merges || taken.length === 0)) {
      const { group, from } = piece;
      const { counts } = group.call;
      const end = Math.min(piece.to, from + itemsLeft);
      let to = from;
      while (to < end) {
        const tokens = counts[to] ?? 0;
        // A text above the cap goes alone: whether it is too long is for the vendor to say.
        if (tokens > tokensLeft && (to > from || taken.length > 0)) break;
        tokensLeft -= tokens;
        to++;
      }
      if (to === from) break;
      taken.push({ group, from, to });
      itemsLeft -= to - from;
      group.waiting -= to - from;
      this.#queuedTexts -= to - from;
      piece.from = to;
      if (to < piece.to) {
        // Full. Whoever had its turn waits behind the others for the rest.
        if (taken.length === 1) {
          lane.pieces.shift();
          lane.pieces.push(piece);
        }
        break;
      }
      lane.pieces.shift();
      piece = headOf(lane);
    }
    return taken;
  }

  async #fly(pieces: readonly Piece[]): Promise<void> {
    const flight: Flight = { pieces, controller: new AbortController(), wanted: pieces.length };
    for (const { group } of pieces) group.flights.add(flight);
    this.#inFlight++;
    try {
      const reply = await this.#options.send(batchOf(pieces, flight.controller.signal));
      let row = 0;
      for (const piece of pieces) {
        piece.group.flights.delete(flight);
        if (!piece.group.isOver) this.#fill(piece, reply, row);
        row += piece.to - piece.from;
      }
    } catch (error) {
      const sendAgain = pieces.length > 1 && this.#options.isRejection(error);
      for (const { group, from, to } of pieces) {
        group.flights.delete(flight);
        if (group.isOver) continue;
        // The text at fault may be another client's.
        if (sendAgain) this.#enqueue({ group, from, to }, false);
        else this.#fail(group, error);
      }
    } finally {
      this.#inFlight--;
      this.#pump();
    }
  }

  #fill(piece: Piece, reply: ProviderReply, row: number): void {
    const { group, from, to } = piece;
    const texts = group.call.texts.length;
    if (to - from === texts && reply.tokens.length === texts) {
      this.#end(group);
      group.resolve(reply);
      return;
    }
    const width = reply.vectors.length / reply.tokens.length;
    group.reply ??= { vectors: new Float32Array(texts * width), tokens: new Array<number>(texts).fill(0) };
    group.reply.vectors.set(reply.vectors.subarray(row * width, (row + to - from) * width), from * width);
    for (let at = from; at < to; at++) group.reply.tokens[at] = reply.tokens[row + at - from] as number;
    group.missing -= to - from;
    if (group.missing > 0) return;
    this.#end(group);
    group.resolve(group.reply);
  }

  #fail(group: Group, error: unknown): void {
    if (group.isOver) return;
    this.#end(group);
    group.reject(error);
  }

  #end(group: Group): void {
    group.isOver = true;
    group.call.signal.removeEventListener('abort', group.onAbort);
    this.#groups.delete(group);
    // Its pieces stay in their lanes until their turn, and are skipped then.
    this.#queuedTexts -= group.waiting;
    group.waiting = 0;
    for (const flight of group.flights) {
      if (--flight.wanted === 0) flight.controller.abort();
    }
    group.flights.clear();
  }
}

/** The first piece that somebody still waits for. */
function headOf(lane: Lane): Piece | undefined {
  while (lane.pieces.head?.group.isOver) lane.pieces.shift();
  return lane.pieces.head;
}

function batchOf(pieces: readonly Piece[], signal: AbortSignal): ProviderCall {
  const [first] = pieces as readonly [Piece];
  const { model, taskType } = first.group.call;
  if (pieces.length === 1) {
    const { texts, counts } = first.group.call;
    if (first.to - first.from === texts.length) return { model, taskType, texts, counts, signal };
  }
  const texts: string[] = [];
  const counts: number[] = [];
  for (const { group, from, to } of pieces) {
    for (let at = from; at < to; at++) {
      texts.push(group.call.texts[at] as string);
      counts.push(group.call.counts[at] as number);
    }
  }
  return { model, taskType, texts, counts, signal };
}

/** A queue with cheap ends. */
class Fifo<Item> {
  #items: Item[] = [];
  #first = 0;

  get head(): Item | undefined {
    return this.#items[this.#first];
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  shift(): Item | undefined {
    const item = this.#items[this.#first];
    if (item === undefined) return undefined;
    this.#first++;
    // Moved to the front once most of it is gone: constant time in the long run.
    if (this.#first * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }
}
