import { SlotMap } from '../../platform/slot-map.ts';
import { currentWork, runFor, type WorkContext } from '../../platform/work-context.ts';
import type { UpstreamCaps } from './protocols/protocol.ts';
import type { ProviderCall, ProviderReply } from './provider.ts';

export interface DispatcherOptions {
  /** Upstream calls in progress at once. */
  readonly concurrencyMax: number;
  /** Texts that may wait for a free call. */
  readonly queuedTextsMax: number;
  capsOf(call: ProviderCall): UpstreamCaps;
  /** One upstream call within the caps, its retries included. */
  send(call: ProviderCall): Promise<ProviderReply>;
  /** Return true if an error means that the upstream refused the texts themselves. */
  isRejection(error: unknown): boolean;
  overloaded(): Error;
}

/** State of one call of `embed` until its promise settles. */
interface PendingRequest {
  readonly call: ProviderCall;
  readonly resolve: (reply: ProviderReply) => void;
  readonly reject: (error: unknown) => void;
  readonly onAbort: () => void;
  /** Request or job that the call is made for. */
  readonly work: WorkContext | undefined;
  /** Batches in progress that carry texts of it. */
  readonly batches: Set<UpstreamBatch>;
  /** Id among the requests that are not settled. */
  id: number;
  /** Number of its texts in a queue. */
  waiting: number;
  /** Number of its texts without a vector. */
  missing: number;
  reply: { readonly vectors: Float32Array; readonly tokens: number[] } | null;
  isSettled: boolean;
}

/** Texts [from, to) of a request. */
interface TextSlice {
  readonly request: PendingRequest;
  from: number;
  readonly to: number;
}

/** One upstream call and the texts that it carries. */
interface UpstreamBatch {
  readonly slices: readonly TextSlice[];
  readonly controller: AbortController;
  /** Number of requests that still wait for it. */
  waitingRequests: number;
}

/** Queue of texts that one upstream call may carry together. */
interface BatchQueue {
  readonly mayMerge: boolean;
  readonly isBackground: boolean;
  readonly slices: Fifo<TextSlice>;
  /** True while it has its place in the order in which the queues are served. */
  isListed: boolean;
}

/**
 * Limits concurrency and builds batches. While fewer than `concurrencyMax` calls are in progress, a request is sent at
 * once, split by the caps. Otherwise it is queued. When a call ends, the next one takes the texts at the head of a
 * queue and fills up with texts of other requests for the same model and task type. So texts of several requests are
 * merged only when that delays none of them.
 *
 * A request that needs several calls moves to the end of its queue after each of them. Queues are served round-robin.
 * Background requests are sent only while nothing else is queued, and leave one call free for the next request.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  /** By the properties that the texts of a queue share. Empty ones are kept: there are a few for each model. */
  readonly #queues = new Map<string, BatchQueue>();
  /** Queues that hold slices, in the order in which they are served next. */
  readonly #roundRobin = new Fifo<BatchQueue>();
  readonly #background = new Fifo<BatchQueue>();
  readonly #requests = new SlotMap<PendingRequest>();
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
      const request: PendingRequest = {
        call,
        resolve,
        reject,
        onAbort: () => this.#fail(request, call.signal.reason),
        work: currentWork(),
        batches: new Set(),
        id: -1,
        waiting: 0,
        missing: texts,
        reply: null,
        isSettled: false,
      };
      call.signal.addEventListener('abort', request.onAbort, { once: true });
      request.id = this.#requests.add(request);
      this.#enqueue({ request, from: 0, to: texts }, true);
      this.#sendNext();
    });
  }

  /** Reject every request that is queued or in progress, and every later one. */
  close(reason: Error): void {
    this.#closedBy = reason;
    for (const request of this.#requests) this.#fail(request, reason);
  }

  #enqueue(slice: TextSlice, mayMerge: boolean): void {
    const { model, taskType, isBackground = false, countExactly } = slice.request.call;
    // Tokens of a call are exact for all of its texts, or for none.
    const key = `${model.id}\n${taskType}\n${mayMerge}\n${isBackground}\n${countExactly === undefined}`;
    let queue = this.#queues.get(key);
    if (!queue) {
      queue = { mayMerge, isBackground, slices: new Fifo(), isListed: false };
      this.#queues.set(key, queue);
    }
    if (!queue.isListed) this.#orderOf(queue).push(queue);
    queue.isListed = true;
    queue.slices.push(slice);
    const texts = slice.to - slice.from;
    slice.request.waiting += texts;
    this.#queuedTexts += texts;
  }

  #sendNext(): void {
    while (this.#inFlight < this.#options.concurrencyMax) {
      const queue = this.#roundRobin.shift() ?? this.#nextInBackground();
      if (!queue) return;
      const slices = this.#takeSlices(queue);
      queue.isListed = headSlice(queue) !== undefined;
      if (queue.isListed) this.#orderOf(queue).push(queue);
      if (slices.length > 0) void this.#send(slices);
    }
  }

  /** Order in which a queue and those of its kind are served. */
  #orderOf({ isBackground }: BatchQueue): Fifo<BatchQueue> {
    return isBackground ? this.#background : this.#roundRobin;
  }

  #nextInBackground(): BatchQueue | undefined {
    const isFree = this.#inFlight === 0 || this.#inFlight < this.#options.concurrencyMax - 1;
    return isFree ? this.#background.shift() : undefined;
  }

  /** Remove the slices of the next upstream call from a queue: the head, then those behind it up to the caps. */
  #takeSlices(queue: BatchQueue): TextSlice[] {
    const taken: TextSlice[] = [];
    let slice = headSlice(queue);
    if (!slice) return taken;
    const caps = this.#options.capsOf(slice.request.call);
    let itemsLeft = caps.itemsMax;
    let tokensLeft = caps.tokensMax ?? Number.POSITIVE_INFINITY;
    while (slice && itemsLeft > 0 && (queue.mayMerge || taken.length === 0)) {
      const { request, from } = slice;
      const { counts } = request.call;
      const end = Math.min(slice.to, from + itemsLeft);
      let to = from;
      while (to < end) {
        const tokens = counts[to] ?? 0;
        // A text above the cap is sent alone: the vendor decides if it is too long.
        if (tokens > tokensLeft && (to > from || taken.length > 0)) break;
        tokensLeft -= tokens;
        to++;
      }
      if (to === from) break;
      taken.push({ request, from, to });
      itemsLeft -= to - from;
      request.waiting -= to - from;
      this.#queuedTexts -= to - from;
      slice.from = to;
      if (to < slice.to) {
        // The batch is full. The rest of its first request waits behind the other requests.
        if (taken.length === 1) {
          queue.slices.shift();
          queue.slices.push(slice);
        }
        break;
      }
      queue.slices.shift();
      slice = headSlice(queue);
    }
    return taken;
  }

  async #send(slices: readonly TextSlice[]): Promise<void> {
    const batch: UpstreamBatch = { slices, controller: new AbortController(), waitingRequests: slices.length };
    for (const { request } of slices) request.batches.add(batch);
    this.#inFlight++;
    try {
      // A batch may be sent at the end of another request's call; it belongs to the first request that it carries.
      const reply = await runFor(slices[0]?.request.work, () =>
        this.#options.send(providerCallOf(slices, batch.controller.signal)),
      );
      let row = 0;
      for (const slice of slices) {
        slice.request.batches.delete(batch);
        if (!slice.request.isSettled) this.#storeVectors(slice, reply, row);
        row += slice.to - slice.from;
      }
    } catch (error) {
      const isResent = slices.length > 1 && this.#options.isRejection(error);
      for (const { request, from, to } of slices) {
        request.batches.delete(batch);
        if (request.isSettled) continue;
        // The refused text may belong to another request.
        if (isResent) this.#enqueue({ request, from, to }, false);
        else this.#fail(request, error);
      }
    } finally {
      this.#inFlight--;
      this.#sendNext();
    }
  }

  #storeVectors(slice: TextSlice, reply: ProviderReply, row: number): void {
    const { request, from, to } = slice;
    const texts = request.call.texts.length;
    if (to - from === texts && reply.tokens.length === texts) {
      this.#settle(request);
      request.resolve(reply);
      return;
    }
    const width = reply.vectors.length / reply.tokens.length;
    request.reply ??= { vectors: new Float32Array(texts * width), tokens: new Array<number>(texts).fill(0) };
    request.reply.vectors.set(reply.vectors.subarray(row * width, (row + to - from) * width), from * width);
    for (let at = from; at < to; at++) request.reply.tokens[at] = reply.tokens[row + at - from] as number;
    request.missing -= to - from;
    if (request.missing > 0) return;
    this.#settle(request);
    request.resolve(request.reply);
  }

  #fail(request: PendingRequest, error: unknown): void {
    if (request.isSettled) return;
    this.#settle(request);
    request.reject(error);
  }

  #settle(request: PendingRequest): void {
    request.isSettled = true;
    request.call.signal.removeEventListener('abort', request.onAbort);
    this.#requests.delete(request.id);
    // Its slices stay in their queues and are skipped when they reach the head.
    this.#queuedTexts -= request.waiting;
    request.waiting = 0;
    for (const batch of request.batches) {
      if (--batch.waitingRequests === 0) batch.controller.abort();
    }
    request.batches.clear();
  }
}

/** Return the first slice of a request that is not settled, and drop the slices before it. */
function headSlice(queue: BatchQueue): TextSlice | undefined {
  while (queue.slices.head?.request.isSettled) queue.slices.shift();
  return queue.slices.head;
}

function providerCallOf(slices: readonly TextSlice[], signal: AbortSignal): ProviderCall {
  const [first] = slices as readonly [TextSlice];
  const { model, taskType, countExactly } = first.request.call;
  if (slices.length === 1) {
    const { texts, counts } = first.request.call;
    if (first.to - first.from === texts.length) return { model, taskType, texts, counts, countExactly, signal };
  }
  const texts: string[] = [];
  const counts: number[] = [];
  for (const { request, from, to } of slices) {
    for (let at = from; at < to; at++) {
      texts.push(request.call.texts[at] as string);
      counts.push(request.call.counts[at] as number);
    }
  }
  return { model, taskType, texts, counts, countExactly, signal };
}

/** First-in, first-out queue; `push` and `shift` take constant time on average. */
class Fifo<Item> {
  readonly #items: Item[] = [];
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
    // Moved only once half is gone, so that the cost per item stays constant.
    if (this.#first * 2 >= this.#items.length) {
      this.#items.splice(0, this.#first);
      this.#first = 0;
    }
    return item;
  }
}
