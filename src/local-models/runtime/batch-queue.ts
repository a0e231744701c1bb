import type { EncodedText } from './encode-texts.ts';

/** Texts of one request, of which some are not computed yet. */
interface QueuedRequest {
  readonly id: number;
  readonly isBackground: boolean;
  /** Texts that wait, the shortest first, so that the longest is taken from the end. */
  readonly waiting: QueuedText[];
}

/** Text of a request that waits for a batch. */
export interface QueuedText {
  readonly requestId: number;
  /** Position in the request. */
  readonly index: number;
  readonly text: EncodedText;
}

/** A batch may hold texts of this multiple of the length of its first one. */
const LENGTH_RATIO_MAX = 1.5;
/** Bound of the products of length and tokens of a batch: attention takes memory by them. */
const ATTENTION_MAX = 512 * 2048;

/**
 * Queue of texts, from which batches of similar length are taken: the longest of a request first, filled up with those
 * of other requests. Requests take turns. Background requests are taken only while no other request waits.
 */
export class BatchQueue {
  readonly #tokensMax: number;
  readonly #requests = new Map<number, QueuedRequest>();

  /** @param tokensMax bound of the tokens of a batch, padding included; a longer text is a batch of its own */
  constructor(tokensMax: number) {
    this.#tokensMax = tokensMax;
  }

  get isEmpty(): boolean {
    return this.#requests.size === 0;
  }

  add(id: number, texts: readonly EncodedText[], isBackground: boolean): void {
    if (texts.length === 0) return;
    const waiting = texts.map((text, index) => ({ requestId: id, index, text }));
    waiting.sort((a, b) => a.text.ids.length - b.text.ids.length);
    this.#requests.set(id, { id, isBackground, waiting });
  }

  remove(id: number): void {
    this.#requests.delete(id);
  }

  /** Take the next batch; it is empty only if the queue is. */
  take(): readonly QueuedText[] {
    const all = [...this.#requests.values()];
    const urgent = all.filter(({ isBackground }) => !isBackground);
    const candidates = urgent.length > 0 ? urgent : all;
    const batch: QueuedText[] = [];
    let length = 0;
    const fits = ({ text }: QueuedText): boolean => {
      const own = text.ids.length;
      if (batch.length === 0) return true;
      const longest = Math.max(length, own);
      const tokens = longest * (batch.length + 1);
      const isSimilar = longest <= LENGTH_RATIO_MAX * Math.min(own, (batch[0] as QueuedText).text.ids.length);
      return isSimilar && tokens <= this.#tokensMax && tokens * longest <= ATTENTION_MAX;
    };
    for (const request of candidates) {
      for (let next = request.waiting.at(-1); next !== undefined && fits(next); next = request.waiting.at(-1)) {
        request.waiting.pop();
        batch.push(next);
        length = Math.max(length, next.text.ids.length);
      }
      if (request.waiting.length === 0) this.#requests.delete(request.id);
    }
    this.#moveToEnd(batch[0]?.requestId);
    return batch;
  }

  /** Let the other requests come first next time. */
  #moveToEnd(id: number | undefined): void {
    const request = id === undefined ? undefined : this.#requests.get(id);
    if (request === undefined) return;
    this.#requests.delete(request.id);
    this.#requests.set(request.id, request);
  }
}
