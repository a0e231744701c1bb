/** Kinds of changes that a caller can follow. */
export const TOPICS = ['jobs', 'documents', 'queues', 'providers', 'sources', 'runs'] as const;
export type Topic = (typeof TOPICS)[number];

/** Change of something that the caller may see. It names the changed thing, whose own route returns it. */
export interface Change {
  readonly topic: Topic;
  readonly id: string;
  readonly [field: string]: unknown;
}

/** Change with its place in a feed, or the note that changes are missing, so that the reader must reload everything. */
export type LiveEvent =
  | { readonly id: string; readonly change: Change }
  | { readonly id: string; readonly change: null };

/** Bounded queue of the events of one reader. If events do not fit, a note that changes are missing replaces them. */
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
   * Take all events. Wait for the first one, at most `ms`. Return null once the queue has ended and is empty.
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
