import type { EncodedText } from './encode-texts.ts';

/** Request with texts that are still to be computed. */
interface QueuedRequest {
  readonly id: number;
  readonly isBackground: boolean;
  /** Waiting texts, shortest first, so that the longest is taken from the end. */
  readonly waiting: QueuedText[];
}

/** Text that waits for a batch. */
export interface QueuedText {
  readonly requestId: number;
  /** Position in the request. */
  readonly index: number;
  readonly text: EncodedText;
}

/** Maximum ratio between the length of the first text of a batch and of its other texts. */
const LENGTH_RATIO_MAX = 1.5;
/** Maximum product of a batch's length and tokens, which determines the memory for attention. */
const ATTENTION_MAX = 512 * 2048;

/**
 * Queue of texts that yields batches of similar length: the longest text of a request first, filled up with texts of
 * other requests. Requests take turns. Background requests are served only while no other request waits.
 */
export class BatchQueue {
  readonly #tokensMax: number;
  readonly #requests = new Map<number, QueuedRequest>();

  /** @param tokensMax maximum tokens of a batch, including padding; a longer text gets its own batch */
  constructor(tokensMax: number) {
    this.#tokensMax = tokensMax;
  }

  get isEmpty(): boolean {
    return this.#requests.size === 0;
  }

  /** @param texts each with its position in the request */
  add(id: number, texts: readonly Omit<QueuedText, 'requestId'>[], isBackground: boolean): void {
    if (texts.length === 0) return;
    const waiting = texts.map((text) => ({ requestId: id, ...text }));
    waiting.sort((a, b) => a.text.ids.length - b.text.ids.length);
    this.#requests.set(id, { id, isBackground, waiting });
  }

  remove(id: number): void {
    this.#requests.delete(id);
  }

  /** Take the next batch. It is empty only if the queue is. */
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

  /** Move a request behind all others. */
  #moveToEnd(id: number | undefined): void {
    const request = id === undefined ? undefined : this.#requests.get(id);
    if (request === undefined) return;
    this.#requests.delete(request.id);
    this.#requests.set(request.id, request);
  }
}
