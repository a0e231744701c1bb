import { SlotMap } from '../../platform/slot-map.ts';
import { currentWork, runFor } from '../../platform/work-context.ts';
import type { UpstreamCaps } from './protocols/protocol.ts';
import type { ProviderCall, ProviderReply } from './provider.ts';
import { BatchSlices, type QueuedRequest, TextQueue, type TextSlice } from './text-queue.ts';

export interface DispatcherOptions {
  /** Maximum number of concurrent upstream calls. */
  readonly concurrencyMax: number;
  /** Maximum number of queued texts, in total. One organization may queue at most half of it. */
  readonly queuedTextsMax: number;
  capsOf(call: ProviderCall): UpstreamCaps;
  /** Make one upstream call within the caps, with its retries. */
  send(call: ProviderCall): Promise<ProviderReply>;
  /** Return true if the upstream refused the texts themselves. */
  isRejection(error: unknown): boolean;
  overloaded(): Error;
}

/** State of one call of `embed` until its promise settles. */
interface PendingRequest extends QueuedRequest {
  readonly resolve: (reply: ProviderReply) => void;
  readonly reject: (error: unknown) => void;
  readonly onAbort: () => void;
  /** Batches in progress that carry its texts. */
  readonly batches: Set<UpstreamBatch>;
  /** Id among the unsettled requests. */
  id: number;
  /** Number of its texts without a vector. */
  missing: number;
  reply: { readonly vectors: Float32Array; readonly tokens: number[] } | null;
}

type RequestSlice = TextSlice<PendingRequest>;

/** One upstream call and the texts that it carries. */
interface UpstreamBatch {
  readonly slices: readonly RequestSlice[];
  readonly controller: AbortController;
  /** Number of requests that still wait for this batch. */
  waitingRequests: number;
}

/**
 * Limits concurrency and builds batches. While fewer than `concurrencyMax` calls are in progress, a request is sent
 * immediately, split by the caps. Otherwise it is queued. When a call ends, the next call takes texts of the next
 * organization in turn, and fills up with texts of other requests for the same model and task type (`TextQueue`). Thus
 * texts of several requests are merged only if that delays none of them.
 *
 * A request that needs several calls moves to the end of its organization's queue after each call. Background requests
 * are sent only while nothing else is queued, and leave one call free for the next request.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #queue: TextQueue<PendingRequest>;
  readonly #requests = new SlotMap<PendingRequest>();
  #inFlight = 0;
  #closedBy: Error | null = null;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#queue = new TextQueue({ textsMax: options.queuedTextsMax, capsOf: (call) => options.capsOf(call) });
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get queuedTexts(): number {
    return this.#queue.texts;
  }

  /** @throws what `send` throws; `overloaded()`; the signal's reason once it is aborted */
  embed(call: ProviderCall): Promise<ProviderReply> {
    return new Promise((resolve, reject) => {
      const texts = call.texts.length;
      if (call.signal.aborted) return reject(call.signal.reason);
      if (this.#closedBy) return reject(this.#closedBy);
      const work = currentWork();
      if (this.#isBusy && !this.#queue.hasRoomFor({ call, work })) return reject(this.#options.overloaded());
      const request: PendingRequest = {
        call,
        resolve,
        reject,
        onAbort: () => this.#fail(request, call.signal.reason),
        work,
        batches: new Set(),
        id: -1,
        waiting: 0,
        missing: texts,
        reply: null,
        isSettled: false,
      };
      call.signal.addEventListener('abort', request.onAbort, { once: true });
      request.id = this.#requests.add(request);
      this.#sendOrQueue({ request, from: 0, to: texts });
    });
  }

  /** Reject all queued, running and later requests. */
  close(reason: Error): void {
    this.#closedBy = reason;
    for (const request of this.#requests) this.#fail(request, reason);
  }

  get #isBusy(): boolean {
    return this.#inFlight >= this.#options.concurrencyMax;
  }

  /** Send a request on free calls, and queue the rest. If a call is free, no other request is waiting. */
  #sendOrQueue(slice: RequestSlice): void {
    const { call } = slice.request;
    if (call.isBackground !== true) {
      while (slice.from < slice.to && !this.#isBusy) {
        const batch = new BatchSlices<PendingRequest>(this.#options.capsOf(call));
        batch.moveFrom(slice);
        void this.#send(batch.slices);
      }
      if (slice.from === slice.to) return;
    }
    this.#queue.add(slice, true);
    this.#sendNext();
  }

  #sendNext(): void {
    while (!this.#isBusy) {
      const mayTakeBackground = this.#inFlight === 0 || this.#inFlight < this.#options.concurrencyMax - 1;
      const slices = this.#queue.take(mayTakeBackground);
      if (slices.length === 0) return;
      void this.#send(slices);
    }
  }

  async #send(slices: readonly RequestSlice[]): Promise<void> {
    const batch: UpstreamBatch = { slices, controller: new AbortController(), waitingRequests: slices.length };
    for (const { request } of slices) request.batches.add(batch);
    this.#inFlight++;
    try {
      // Another request's call may trigger this batch, but the batch belongs to the first request that it carries.
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
        if (isResent) this.#queue.add({ request, from, to }, false);
        else this.#fail(request, error);
      }
    } finally {
      this.#inFlight--;
      this.#sendNext();
    }
  }

  #storeVectors(slice: RequestSlice, reply: ProviderReply, row: number): void {
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
    this.#queue.discount(request);
    for (const batch of request.batches) {
      if (--batch.waitingRequests === 0) batch.controller.abort();
    }
    request.batches.clear();
  }
}

function providerCallOf(slices: readonly RequestSlice[], signal: AbortSignal): ProviderCall {
  const [first] = slices as readonly [RequestSlice];
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
