/** Kinds of changes that a caller can follow. */
export const TOPICS = ['jobs', 'documents', 'queues', 'providers', 'sources', 'runs'] as const;
export type Topic = (typeof TOPICS)[number];

/** Change to something that the caller may see. It only names the changed thing, which its own route returns. */
export interface Change {
  readonly topic: Topic;
  readonly id: string;
  readonly [field: string]: unknown;
}

/**
 * Change with its position in a feed, or a note that changes are missing, so that the reader must reload everything.
 */
export type LiveEvent =
  | { readonly id: string; readonly change: Change }
  | { readonly id: string; readonly change: null };

/** Bounded queue of one reader's events. Events that don't fit are replaced by a note that changes are missing. */
export class EventQueue {
  readonly #topics: ReadonlySet<Topic>;
  readonly #eventsMax: number;
  #events: LiveEvent[] = [];
  #isEnded = false;
  #wake: (() => void) | null = null;

  constructor(topics: ReadonlySet<Topic>, eventsMax: number) {
    this.#topics = topics;
    this.#eventsMax = eventsMax;
  }

  push(event: LiveEvent): void {
    if (event.change !== null && !this.#topics.has(event.change.topic)) return;
    if (this.#events.length >= this.#eventsMax) this.#events = [{ id: event.id, change: null }];
    else this.#events.push(event);
    this.#wake?.();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  /**
   * Take all events. If there are none, wait at most `ms` for the first one. Return null once the queue has ended and
   * is empty.
   *
   * @param signal ends the wait early
   */
  async take(ms: number, signal: AbortSignal): Promise<LiveEvent[] | null> {
    if (this.#events.length === 0 && !this.#isEnded) await this.#wait(ms, signal);
    const taken = this.#events;
    this.#events = [];
    return taken.length === 0 && this.#isEnded ? null : taken;
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    const timer = setTimeout(wake, ms);
    this.#wake = wake;
    signal.addEventListener('abort', wake);
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', wake);
    this.#wake = null;
  }
}
