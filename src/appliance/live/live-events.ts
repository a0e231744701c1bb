import type { Caller } from '../../access/caller.ts';
import { AppError } from '../../platform/errors.ts';
import { EventQueue, type LiveEvent, type Topic } from './events.ts';
import { Feed, type FeedContext } from './feed.ts';

/** Maximum number of concurrent streams of one key, user or operator. */
const STREAMS_OF_ONE_MAX = 8;
/** Maximum number of streams of all callers together. */
const STREAMS_MAX = 500;
/**
 * Share of each open feed in the interval at which every feed is read. With many feeds, each is read less often, so
 * that together they take a bounded share of the database.
 */
const INTERVAL_MS_PER_FEED = 100;
/** Maximum number of events that wait for a slow reader. */
const WAITING_EVENTS_MAX = 1_000;

export interface StreamOptions {
  readonly topics: ReadonlySet<Topic>;
  /** Id of the last event of the reader's earlier stream. */
  readonly lastEventId: string | null;
}

/** Stream of the changes that a caller may see. Always close it. */
export interface EventStream {
  /** Take all events. If there are none, wait at most `ms` for the first one. Return null once the stream has ended. */
  take(ms: number, signal: AbortSignal): Promise<LiveEvent[] | null>;
  close(): void;
}

/** Event feeds of this process, one for each caller with open streams. */
export class LiveEvents {
  readonly #context: FeedContext;
  readonly #intervalMs: number;
  readonly #lingerMs: number;
  readonly #feeds = new Map<string, Feed>();
  readonly #streams = new Map<string, number>();
  #streamsOpen = 0;
  #isClosed = false;

  /**
   * @param options.intervalMs minimum time between readings of a feed
   * @param options.lingerMs time for which a feed without readers continues, in case they reconnect
   */
  constructor(context: FeedContext, { intervalMs = 1_000, lingerMs = 20_000 } = {}) {
    this.#context = context;
    this.#intervalMs = intervalMs;
    this.#lingerMs = lingerMs;
  }

  /** @throws AppError `too_many_streams` (429), `too_many_streams_of_all`, `shutting_down` (503) */
  open(caller: Caller, { topics, lastEventId }: StreamOptions): EventStream {
    if (this.#isClosed) throw busy('shutting_down', 'the service is shutting down; try again');
    const ofOne = this.#streams.get(caller.actor) ?? 0;
    if (ofOne >= STREAMS_OF_ONE_MAX) throw tooManyStreams();
    if (this.#streamsOpen >= STREAMS_MAX) {
      throw busy('too_many_streams_of_all', `${STREAMS_MAX} event streams are open; try again later`);
    }
    const queue = new EventQueue(topics, WAITING_EVENTS_MAX);
    const feed = this.#feedOf(caller);
    feed.add(queue, lastEventId);
    this.#streams.set(caller.actor, ofOne + 1);
    this.#streamsOpen++;
    let isOpen = true;
    return {
      take: (ms, signal) => queue.take(ms, signal),
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        feed.remove(queue);
        this.#streamsOpen--;
        const left = (this.#streams.get(caller.actor) ?? 1) - 1;
        if (left === 0) this.#streams.delete(caller.actor);
        else this.#streams.set(caller.actor, left);
        setTimeout(() => this.#closeUnread(caller, feed), this.#lingerMs).unref();
      },
    };
  }

  /** End all streams. */
  close(): void {
    this.#isClosed = true;
    for (const feed of this.#feeds.values()) feed.close();
    this.#feeds.clear();
  }

  #feedOf(caller: Caller): Feed {
    const key = readerKey(caller);
    const known = this.#feeds.get(key);
    if (known) return known;
    const paceMs = () => Math.max(this.#intervalMs, this.#feeds.size * INTERVAL_MS_PER_FEED);
    const feed = new Feed(this.#context, caller, paceMs);
    this.#feeds.set(key, feed);
    void feed.run().finally(() => {
      if (this.#feeds.get(key) === feed) this.#feeds.delete(key);
    });
    return feed;
  }

  #closeUnread(caller: Caller, feed: Feed): void {
    if (feed.readers > 0) return;
    const key = readerKey(caller);
    if (this.#feeds.get(key) === feed) this.#feeds.delete(key);
    feed.close();
  }
}

/** Return a key that is equal for callers with the same rights and name. */
export function readerKey(caller: Caller): string {
  const { orgId, actor, role, department, groups = [], authLevel, scopes, outside, userId, limits } = caller;
  const rights = [role, department, groups, authLevel, [...scopes].toSorted(), outside, limits];
  return JSON.stringify([orgId, actor, userId, rights]);
}

function tooManyStreams(): AppError {
  return new AppError({
    code: 'too_many_streams',
    status: 429,
    message: `more than ${STREAMS_OF_ONE_MAX} event streams are open; close one, or wait`,
    retryable: true,
    retryAfterSeconds: 5,
  });
}

function busy(code: string, message: string): AppError {
  return new AppError({ code, status: 503, message, retryable: true, retryAfterSeconds: 5 });
}
