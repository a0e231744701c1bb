import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import BeeQueue from 'bee-queue';
import type { RedisOptions } from 'ioredis';
import type { Logger } from '../platform/logger.ts';
import { RedisClient, type RedisConnection } from '../platform/redis.ts';
import type { JobNotifier, NotificationListener } from './notifier.ts';
import type { JobKind } from './schema.ts';

/** Maximum wait for Redis when sending a notification, since the submitter of the job waits too. */
const SEND_MS_MAX = 250;
/** Maximum number of pending notifications per kind of job. More would wake no further worker. */
const PENDING_MAX = 32;
/** Maximum number of workers without a free slot that may pass on a notification. */
const PASSES_MAX = 16;
const PREFIX = 'service:bells';
const RETRY_MS = 250;
const RETRY_MS_MAX = 5_000;
const STALL_MS = 5_000;
const KEEP_ALIVE_MS = 10_000;
const CLOSE_MS = 100;

interface RedisNotifierSettings {
  readonly redis: RedisConnection;
  readonly logger: Logger;
  /** Interval of returning notifications of killed listeners to the queue. It takes one to two intervals. */
  readonly stallMs?: number;
}

interface Notification {
  /** Number of workers without a free slot that have passed it on. */
  readonly passes: number;
}

/**
 * Open the notifier over Redis. A notification of a queued job is a message of bee-queue, which wakes one worker. A
 * notification of a lost job is published to all workers. bee-queue serves no other purpose: it has no fencing, and
 * PostgreSQL holds the jobs and their leases.
 *
 * While Redis is unavailable, `notifyQueued` and `notifyLost` do nothing, and the connection logs the outage once.
 * Workers find jobs by sweeping. A restart of Redis loses its scripts, and bee-queue doesn't reload them (NOSCRIPT), so
 * its queue objects are replaced after every failure.
 */
export function openRedisNotifier(settings: RedisNotifierSettings): JobNotifier {
  const { redis, logger, stallMs = STALL_MS } = settings;
  const senders = new Map<JobKind, NotificationSender>();

  async function withinSendTime(work: Promise<unknown>): Promise<void> {
    const timer = new AbortController();
    const late = delay(SEND_MS_MAX, undefined, { signal: timer.signal }).then(() => {
      throw new Error(`Redis did not answer within ${SEND_MS_MAX} ms`);
    });
    try {
      await Promise.race([work, late]);
    } catch (error) {
      logger.debug(
        { reason: (error as Error).message },
        'a notification was not sent; workers find the job by their sweep',
      );
    } finally {
      timer.abort();
      late.catch(() => undefined);
      work.catch(() => undefined);
    }
  }

  return {
    async notifyQueued(kind) {
      if (!redis.isReady) return;
      let sender = senders.get(kind);
      if (!sender) {
        sender = new NotificationSender(redis, kind);
        senders.set(kind, sender);
      }
      await withinSendTime(sender.notifyQueued());
    },
    async notifyLost(kind, jobId) {
      if (redis.isReady) await withinSendTime(redis.client.publish(lostChannel(kind), jobId));
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

/** Create a queue on `client`, which must be ready: bee-queue ends a connection that fails earlier. */
function makeQueue(client: RedisClient, name: string, stallMs: number | null): BeeQueue<Notification> {
  const queue = new BeeQueue<Notification>(name, {
    prefix: PREFIX,
    redis: client as never, // bee-queue's types lack ioredis clients
    isWorker: stallMs !== null,
    getEvents: false,
    sendEvents: false,
    storeJobs: false,
    activateDelayedJobs: false,
    removeOnSuccess: true,
    removeOnFailure: true,
    stallInterval: stallMs ?? STALL_MS,
  });
  // Calls report their own failures. Without a listener, an error event would crash the process.
  queue.on('error', () => undefined);
  queue.ready().catch(() => undefined);
  return queue;
}

/** Return the name of a kind's queue. In a cluster, it keeps the queue's keys in one slot. */
function nameOfQueue({ isCluster }: RedisConnection, kind: JobKind): string {
  return isCluster ? `{${kind}}` : kind;
}

/** Open a connection to the server that stores a queue's keys. */
function connectToQueue(redis: RedisConnection, kind: JobKind, options: RedisOptions = {}): Promise<RedisClient> {
  return redis.connectTo(`${PREFIX}:${nameOfQueue(redis, kind)}:`, options);
}

let notificationsSent = Math.floor(Math.random() * PENDING_MAX);

/** Queue a notification under one of a few ids. A pending id is not queued again, so the queue stays short. */
async function saveNotification(queue: BeeQueue<Notification>, passes: number): Promise<void> {
  notificationsSent = (notificationsSent + 1) % PENDING_MAX;
  await queue.createJob({ passes }).setId(`bell-${notificationsSent}`).save();
}

/** Sender of notifications over the process's own connection, or in a cluster over one to the queue's server. */
class NotificationSender {
  readonly #redis: RedisConnection;
  readonly #kind: JobKind;
  #queue: Promise<BeeQueue<Notification>> | null = null;
  /** Own connection of this sender; null to use that of the process. */
  #client: RedisClient | null = null;

  constructor(redis: RedisConnection, kind: JobKind) {
    this.#redis = redis;
    this.#kind = kind;
  }

  async notifyQueued(): Promise<void> {
    const isFresh = this.#queue === null;
    const opened = this.#queue ?? this.#open();
    this.#queue = opened;
    try {
      await saveNotification(await opened, 0);
    } catch (error) {
      if (this.#queue === opened) this.#queue = null;
      await opened.then((queue) => queue.close(CLOSE_MS)).catch(() => undefined);
      if (isFresh || !this.#redis.isReady) throw error;
      await this.notifyQueued();
    }
  }

  async #open(): Promise<BeeQueue<Notification>> {
    return makeQueue(await this.#connect(), nameOfQueue(this.#redis, this.#kind), null);
  }

  async #connect(): Promise<RedisClient> {
    const { client } = this.#redis;
    if (client instanceof RedisClient) return client;
    this.#client?.disconnect();
    const own = await connectToQueue(this.#redis, this.#kind, { retryStrategy: () => null });
    this.#client = own;
    // A lost connection fails the next notification, which opens a new one.
    own.on('error', () => undefined);
    const ended = once(own, 'end').then(() => {
      throw new Error('the connection to the server of the queue was closed');
    });
    await Promise.race([once(own, 'ready'), ended]);
    return own;
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
  let mayHaveMissed = false;
  const onListening = () => {
    if (mayHaveMissed) {
      listener.onLost(null);
      listener.onNotification();
    }
    mayHaveMissed = true;
    failures = 0;
    onFirstAttempt();
  };
  while (!signal.aborted) {
    try {
      await listenOnce(listening, onListening);
    } catch (error) {
      logger.debug({ reason: (error as Error).message, kind }, 'listening for notifications failed');
    }
    mayHaveMissed = true;
    onFirstAttempt();
    const retryMs = Math.min(RETRY_MS * 2 ** failures++, RETRY_MS_MAX);
    await delay(retryMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
  }
  onFirstAttempt();
}

/** Listen on two dedicated connections until one is lost or `signal` aborts. */
async function listenOnce(
  { redis, stallMs, kind, listener, signal }: Listening,
  onListening: () => void,
): Promise<void> {
  const lost = new AbortController();
  const clients: RedisClient[] = [];
  const connect = async (): Promise<RedisClient> => {
    // Blocking commands have no deadline. ioredis must not reconnect by itself.
    const client = await connectToQueue(redis, kind, {
      commandTimeout: undefined,
      socketTimeout: undefined,
      keepAlive: KEEP_ALIVE_MS,
      retryStrategy: () => null,
    } as never);
    clients.push(client);
    // Don't log the error, which includes the failed command and possibly the password.
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
    const notifications = makeQueue(commands, nameOfQueue(redis, kind), stallMs);
    queue = notifications;
    notifications.on('error', () => lost.abort());
    await notifications.ready();
    notifications.process(async () => undefined);
    // Only now is the notification's id free again. A worker woken later sees every job notified under it.
    notifications.on('succeeded', ({ data }) => {
      if (over.aborted || listener.onNotification() || data.passes >= PASSES_MAX) return;
      saveNotification(notifications, data.passes + 1).catch(() => lost.abort());
    });
    notifications.checkStalledJobs(stallMs).catch(() => lost.abort());
    onListening();
    if (!over.aborted) await once(over, 'abort');
  } finally {
    await queue?.close(CLOSE_MS).catch(() => undefined);
    for (const client of clients) client.disconnect();
  }
}
