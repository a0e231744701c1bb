import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import BeeQueue from 'bee-queue';
import { Redis } from 'ioredis';
import type { Logger } from '../platform/logger.ts';
import type { RedisConnection } from '../platform/redis.ts';
import type { JobNotifier, NotificationListener } from './notifier.ts';
import type { JobKind } from './schema.ts';

/** What a ring waits for Redis at most: whoever submits a job waits for it. */
const RING_MS = 250;
/** Bells of one kind that wait at most. More would wake nobody whom these do not. */
const BELLS_MAX = 32;
/** How many workers without room a bell is passed on by. */
const PASSES_MAX = 16;
const RETRY_MS = 250;
const RETRY_MS_MAX = 5_000;
const STALL_MS = 5_000;
const KEEP_ALIVE_MS = 10_000;
const CLOSE_MS = 100;

interface RedisNotifierSettings {
  readonly redis: RedisConnection;
  readonly logger: Logger;
  /** A bell whose listener was killed while it took it is put back after one to two of these. */
  readonly stallMs?: number;
}

interface Notification {
  /** Workers without room that had it. */
  readonly passes: number;
}

/**
 * The notifier over Redis: bells are bee-queue's messages, of which each wakes one worker; recalls go to all of them
 * by PUBLISH. bee-queue is nothing but the bell here. Its own ideas of who works on what are not used: it has no
 * fencing, and PostgreSQL holds the jobs.
 *
 * While Redis is away `notifyQueued` and `notifyLost` do nothing, and say so in the log once: workers find jobs by their sweep.
 * Scripts are gone after a restart of Redis and bee-queue does not load them again (NOSCRIPT), so its queue objects
 * are thrown away after every failure and made anew.
 */
export function openRedisNotifier(settings: RedisNotifierSettings): JobNotifier {
  const { redis, logger, stallMs = STALL_MS } = settings;
  const ringers = new Map<JobKind, Ringer>();

  async function inTime(work: Promise<unknown>): Promise<void> {
    const timer = new AbortController();
    const late = delay(RING_MS, undefined, { signal: timer.signal }).then(() => {
      throw new Error(`Redis did not answer within ${RING_MS} ms`);
    });
    try {
      await Promise.race([work, late]);
    } catch (error) {
      logger.debug({ reason: (error as Error).message }, 'the bell was not rung; workers will look by themselves');
    } finally {
      timer.abort();
      late.catch(() => undefined);
      work.catch(() => undefined);
    }
  }

  return {
    async notifyQueued(kind) {
      if (!redis.isReady) return;
      let ringer = ringers.get(kind);
      if (!ringer) {
        ringer = new Ringer(redis, kind);
        ringers.set(kind, ringer);
      }
      await inTime(ringer.notifyQueued());
    },
    async notifyLost(kind, jobId) {
      if (redis.isReady) await inTime(redis.client.publish(lostChannel(kind), jobId));
    },
    listen(kind, listener, signal) {
      return new Promise((resolve) => {
        void keepListening({ redis, logger, stallMs, kind, listener, signal }, resolve);
      });
    },
  };
}

function lostChannel(kind: JobKind): string {
  return `service:jobs:${kind}:recall`;
}

/** A queue that is made for `client`, which must be ready: bee-queue ends a connection that fails before that. */
function makeQueue(client: Redis, kind: JobKind, stallMs: number | null): BeeQueue<Notification> {
  // bee-queue takes ioredis's clients too, though its types do not say so, and knows them by this name, which ioredis
  // 6 loses: its constructor is that of the EventEmitter that is mixed in.
  Object.defineProperty(client, 'constructor', { value: Redis, configurable: true });
  const queue = new BeeQueue<Notification>(kind, {
    prefix: 'service:bells',
    redis: client as never,
    isWorker: stallMs !== null,
    getEvents: false,
    sendEvents: false,
    storeJobs: false,
    activateDelayedJobs: false,
    removeOnSuccess: true,
    removeOnFailure: true,
    stallInterval: stallMs ?? STALL_MS,
  });
  // Failures are those of the calls; without a listener they would end the process.
  queue.on('error', () => undefined);
  queue.ready().catch(() => undefined);
  return queue;
}

let notificationsSent = Math.floor(Math.random() * BELLS_MAX);

/** Bells share a few names, and a name that waits already is not queued again: the queue stays short. */
async function saveNotification(queue: BeeQueue<Notification>, passes: number): Promise<void> {
  notificationsSent = (notificationsSent + 1) % BELLS_MAX;
  await queue.createJob({ passes }).setId(`bell-${notificationsSent}`).save();
}

/** The ringing end, on the process's own connection. */
class Ringer {
  readonly #redis: RedisConnection;
  readonly #kind: JobKind;
  #queue: BeeQueue<Notification> | null = null;

  constructor(redis: RedisConnection, kind: JobKind) {
    this.#redis = redis;
    this.#kind = kind;
  }

  async notifyQueued(): Promise<void> {
    const isFresh = this.#queue === null;
    const queue = this.#queue ?? makeQueue(this.#redis.client, this.#kind, null);
    this.#queue = queue;
    try {
      await saveNotification(queue, 0);
    } catch (error) {
      if (this.#queue === queue) this.#queue = null;
      await queue.close(CLOSE_MS).catch(() => undefined);
      if (isFresh || !this.#redis.isReady) throw error;
      await this.notifyQueued();
    }
  }
}

interface Listening {
  readonly redis: RedisConnection;
  readonly logger: Logger;
  readonly stallMs: number;
  readonly kind: JobKind;
  readonly listener: NotificationListener;
  readonly signal: AbortSignal;
}

async function keepListening(listening: Listening, onFirstAttempt: () => void): Promise<void> {
  const { logger, kind, listener, signal } = listening;
  let failures = 0;
  let wasAway = false;
  const onListening = () => {
    if (wasAway) {
      listener.onLost(null);
      listener.onNotification();
    }
    wasAway = true;
    failures = 0;
    onFirstAttempt();
  };
  while (!signal.aborted) {
    try {
      await listenOnce(listening, onListening);
    } catch (error) {
      logger.debug({ reason: (error as Error).message, kind }, 'listening for bells failed');
    }
    wasAway = true;
    onFirstAttempt();
    const retryMs = Math.min(RETRY_MS * 2 ** failures++, RETRY_MS_MAX);
    await delay(retryMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
  }
  onFirstAttempt();
}

/** Listen on connections of its own until one of them is lost or `signal` aborts. */
async function listenOnce(
  { redis, stallMs, kind, listener, signal }: Listening,
  onListening: () => void,
): Promise<void> {
  const lost = new AbortController();
  const clients: Redis[] = [];
  const connect = async (): Promise<Redis> => {
    // Blocking commands have no deadline, and a connection that is lost is not made again behind our back.
    const client = redis.client.duplicate({
      lazyConnect: false,
      commandTimeout: undefined,
      socketTimeout: undefined,
      keepAlive: KEEP_ALIVE_MS,
      retryStrategy: () => null,
    } as never);
    clients.push(client);
    // The error itself may hold the password (it carries the failed command); its end is enough to know.
    client.on('error', () => lost.abort());
    client.on('close', () => lost.abort());
    await once(client, 'ready', { signal: over });
    return client;
  };
  const over = AbortSignal.any([lost.signal, signal]);
  let queue: BeeQueue<Notification> | null = null;
  try {
    const commands = await connect();
    const subscriber = await connect();
    subscriber.on('message', (_channel, jobId) => {
      if (!over.aborted) listener.onLost(jobId);
    });
    await subscriber.subscribe(lostChannel(kind));
    const bells = makeQueue(commands, kind, stallMs);
    queue = bells;
    bells.on('error', () => lost.abort());
    await bells.ready();
    bells.process(async () => undefined);
    // Only now: what was rung while this bell had its name was queued before, and is seen by whoever looks after it.
    bells.on('succeeded', ({ data }) => {
      if (over.aborted || listener.onNotification() || data.passes >= PASSES_MAX) return;
      saveNotification(bells, data.passes + 1).catch(() => lost.abort());
    });
    bells.checkStalledJobs(stallMs).catch(() => lost.abort());
    onListening();
    if (!over.aborted) await once(over, 'abort');
  } finally {
    await queue?.close(CLOSE_MS).catch(() => undefined);
    for (const client of clients) client.disconnect();
  }
}
