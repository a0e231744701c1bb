import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, markBackground } from './api.ts';
import { onChange, type Topic } from './events.ts';
import { keepPages, keptPlace } from './kept-place.ts';

/** Data of a page. Existing data stays during a reload, even if the reload fails. */
export interface Resource<T> {
  readonly data: T | null;
  readonly error: ApiError | null;
  readonly isLoading: boolean;
  readonly refresh: () => void;
  /** Refresh in the background, not on a user's request. */
  readonly refreshQuietly: () => void;
}

interface State<T> {
  readonly key: string | null;
  readonly data: T | null;
  readonly error: ApiError | null;
  readonly isLoading: boolean;
}

/**
 * Load data when the key changes, when a topic reports a change, and on request.
 *
 * @param key identity of the data; null loads nothing
 */
export function useResource<T>(
  key: string | null,
  load: (signal: AbortSignal) => Promise<T>,
  topics: readonly Topic[] = [],
): Resource<T> {
  const [state, setState] = useState<State<T>>({ key, data: null, error: null, isLoading: key !== null });
  const [round, setRound] = useState(0);
  const running = useRef(false);
  const isDueAgain = useRef(false);
  const isQuiet = useRef(false);
  // A refresh doesn't stop a request in progress; otherwise, frequent events would keep every request from finishing.
  const start = useCallback((quietly: boolean) => {
    isQuiet.current = quietly;
    if (running.current) isDueAgain.current = true;
    else setRound((before) => before + 1);
  }, []);
  const refresh = useCallback(() => start(false), [start]);
  const refreshQuietly = useCallback(() => start(true), [start]);
  const loader = useRef(load);
  loader.current = load;

  // biome-ignore lint/correctness/useExhaustiveDependencies: each round loads again
  useEffect(() => {
    if (key === null) {
      setState({ key, data: null, error: null, isLoading: false });
      return;
    }
    const abort = new AbortController();
    setState((before) => ({
      key,
      data: before.key === key ? before.data : null,
      error: before.key === key ? before.error : null,
      isLoading: true,
    }));
    const settle = (change: (before: State<T>) => State<T>) => {
      if (abort.signal.aborted) return;
      running.current = false;
      setState(change);
      if (isDueAgain.current) setRound((before) => before + 1);
    };
    running.current = true;
    isDueAgain.current = false;
    if (isQuiet.current) markBackground(abort.signal);
    isQuiet.current = false;
    loader.current(abort.signal).then(
      (data) => settle(() => ({ key, data, error: null, isLoading: false })),
      (error) => settle((before) => ({ ...before, error: asApiError(error), isLoading: false })),
    );
    return () => {
      running.current = false;
      abort.abort();
    };
  }, [key, round]);

  const subject = topics.join();
  useEffect(
    () => onChange(subject === '' ? [] : (subject.split(',') as Topic[]), refreshQuietly),
    [subject, refreshQuietly],
  );
  const isCurrent = state.key === key;
  return {
    data: isCurrent ? state.data : null,
    error: isCurrent ? state.error : null,
    isLoading: isCurrent ? state.isLoading : key !== null,
    refresh,
    refreshQuietly,
  };
}

/** Convert any thrown value to an ApiError. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(0, error instanceof Error ? error.message : String(error));
}

export interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
}

export interface PagedResource<T> extends Resource<readonly T[]> {
  readonly hasMore: boolean;
  /** Also load the next page. */
  readonly loadMore: () => void;
}

const PAGES_MAX = 100;

/** Load a list one page at a time. A refresh or going back in the history loads as many pages as were shown. */
export function usePages<T>(
  key: string | null,
  loadPage: (cursor: string | null, signal: AbortSignal) => Promise<Page<T>>,
  topics: readonly Topic[] = [],
): PagedResource<T> {
  const [shown, setShown] = useState(() => ({
    key,
    pages: (key === null ? undefined : keptPlace().pages?.[key]) ?? 1,
  }));
  const pages = shown.key === key ? shown.pages : 1;
  const cached = useRef<{ key: string | null; items: readonly T[]; next: string | null; pages: number } | null>(null);
  const loadAll = async (signal: AbortSignal) => {
    const known = cached.current;
    const isMore = known !== null && known.key === key && known.pages < pages;
    let items: readonly T[] = isMore ? known.items : [];
    let next: string | null = isMore ? known.next : null;
    for (let page = isMore ? known.pages : 0; page < pages; page += 1) {
      const reply = await loadPage(next, signal);
      items = [...items, ...reply.data];
      next = reply.next_cursor;
      if (next === null) break;
    }
    cached.current = { key, items, next, pages };
    return { items, next };
  };
  const resource = useResource(key === null ? null : `${key}`, loadAll, topics);
  const { refresh } = resource;
  const loadMore = () => {
    const next = Math.min(pages + 1, PAGES_MAX);
    setShown({ key, pages: next });
    if (key !== null) keepPages(key, next);
    refresh();
  };
  const { data } = resource;
  return { ...resource, data: data?.items ?? null, hasMore: data?.next != null, loadMore };
}

/** State of a user action, such as saving a form. */
export interface Action<A extends readonly unknown[]> {
  readonly run: (...args: A) => Promise<boolean>;
  readonly isRunning: boolean;
  readonly error: ApiError | null;
  readonly reset: () => void;
}

/** Run an operation without overlap. `run` resolves to true on success. */
export function useAction<A extends readonly unknown[]>(operation: (...args: A) => Promise<unknown>): Action<A> {
  const [state, setState] = useState<{ isRunning: boolean; error: ApiError | null }>({ isRunning: false, error: null });
  const isRunning = useRef(false);
  const run = async (...args: A) => {
    if (isRunning.current) return false;
    isRunning.current = true;
    setState({ isRunning: true, error: null });
    try {
      await operation(...args);
      setState({ isRunning: false, error: null });
      return true;
    } catch (error) {
      const isStopped = error instanceof DOMException && error.name === 'AbortError';
      setState({ isRunning: false, error: isStopped ? null : asApiError(error) });
      return false;
    } finally {
      isRunning.current = false;
    }
  };
  return { run, ...state, reset: () => setState({ isRunning: false, error: null }) };
}

/**
 * Create a function that runs an operation once a resource has loaded or failed to load, since a user may click before
 * the required data has arrived.
 */
export function useOnceLoaded({ data, error }: Resource<unknown>, operation: () => unknown): () => void {
  const [isDue, setIsDue] = useState(false);
  const isLoaded = data !== null || error !== null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: an edit meanwhile does not start it
  useEffect(() => {
    if (!isDue || !isLoaded) return;
    setIsDue(false);
    operation();
  }, [isDue, isLoaded]);
  return () => setIsDue(true);
}
