import { createStore } from './store.ts';

const TOPICS = ['jobs', 'documents', 'queues', 'providers', 'sources', 'runs'] as const;

export type Topic = (typeof TOPICS)[number];

/** `polling`: the server responds but has no stream for this page; `down`: it doesn't respond. */
export type Connection = 'connecting' | 'open' | 'polling' | 'down';

export const connection = createStore<Connection>('connecting');

export interface JobProgress {
  readonly done: number;
  readonly total: number;
}

const JOBS_FOLLOWED_MAX = 500;

/** Recent progress of jobs, by their ids. */
export const jobProgress = createStore<ReadonlyMap<string, JobProgress>>(new Map());

function noteProgress(data: string): void {
  const { id, progress } = JSON.parse(data) as { id: string; progress?: JobProgress | null };
  const known = [...jobProgress.get()].filter(([job]) => job !== id);
  if (progress) jobProgress.set(new Map([...known, [id, progress] as const].slice(-JOBS_FOLLOWED_MAX)));
  else if (jobProgress.get().has(id)) jobProgress.set(new Map(known));
}

/** Time to collect changes, so that a thousand finished jobs cause one request. */
const COLLECT_MS = 800;
const RECONNECT_MIN_MS = 1000;
const RECONNECT_MAX_MS = 15_000;

type Listener = () => void;
const listeners = new Map<Listener, readonly Topic[]>();
const pending = new Set<Listener>();
let collecting: ReturnType<typeof setTimeout> | null = null;
let source: EventSource | null = null;
let retry: ReturnType<typeof setTimeout> | null = null;
let delayMs = RECONNECT_MIN_MS;

/** Call `listener` when a topic reports a change, and when the server responds again. */
export function onChange(topics: readonly Topic[], listener: Listener): () => void {
  listeners.set(listener, topics);
  return () => {
    listeners.delete(listener);
    pending.delete(listener);
  };
}

function announce(topic: Topic | 'all'): void {
  for (const [listener, topics] of listeners) {
    if (topic === 'all' || topics.includes(topic)) pending.add(listener);
  }
  if (collecting !== null) return;
  collecting = setTimeout(() => {
    collecting = null;
    const due = [...pending];
    pending.clear();
    for (const listener of due) listener();
  }, COLLECT_MS);
}

/** Repeat the requests of all open pages, for example after a new sign-in. */
export function refreshAll(): void {
  announce('all');
}

/** Open the event stream. It reconnects until `closeEvents`. */
export function openEvents(): void {
  closeEvents();
  const stream = new EventSource(`/v1/events?topics=${TOPICS.join(',')}`);
  source = stream;
  stream.onopen = () => {
    delayMs = RECONNECT_MIN_MS;
    const isFirst = connection.get() === 'connecting';
    connection.set('open');
    if (!isFirst) announce('all');
  };
  stream.onerror = () => recover(stream);
  stream.addEventListener('reset', refreshAll);
  stream.addEventListener('jobs', ({ data }) => noteProgress(data));
  for (const topic of TOPICS) stream.addEventListener(topic, () => announce(topic));
}

/** Check that the service responds. */
export async function isAnswering(): Promise<boolean> {
  return fetch('/healthz', { cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );
}

const ASK_AGAIN_MS = 2000;

/** Wait until the service responds. */
export async function untilAnswering(): Promise<void> {
  while (!(await isAnswering())) await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
}

/**
 * Reconnect after a while. By itself, the browser would give up after a status other than 200, for example from a proxy
 * while the service restarts. Meanwhile the pages poll.
 */
async function recover(stream: EventSource): Promise<void> {
  stream.close();
  const isUp = await isAnswering();
  if (source !== stream) return;
  connection.set(isUp ? 'polling' : 'down');
  retry = setTimeout(openEvents, delayMs);
  delayMs = Math.min(delayMs * 2, RECONNECT_MAX_MS);
  announce('all');
}

export function closeEvents(): void {
  if (retry !== null) clearTimeout(retry);
  retry = null;
  source?.close();
  source = null;
}
