import { createHash } from 'node:crypto';
import type { Caller } from '../../src/access/caller.ts';
import type { IdempotencyLock, IdempotentStart } from '../../src/access/idempotency.ts';
import { AppError } from '../../src/platform/errors.ts';
import type { Logger } from '../../src/platform/logger.ts';
import { hasUnknownOutcome } from '../../src/platform/postgres.ts';
import type { RequestMiddleware, RequestState } from '../request-state.ts';

/** Store of first responses: `src/access/idempotency.ts` bound to a database. */
export interface Idempotency {
  /** @throws AppError 409 while the first request is in progress, 422 for another request under the same key */
  begin(request: { orgId: string; key: string; fingerprint: Buffer }): Promise<IdempotentStart>;
  /** Interval, in milliseconds, at which the lock of a request in progress is extended. */
  readonly extendEveryMs: number;
  /** Extend the lock. Resolve with false if the request already counts as dead. */
  extend(lock: IdempotencyLock): Promise<boolean>;
  /** Store a 2xx or 3xx response, encrypted if it contains a secret. For any other, release the key. */
  finish(lock: IdempotencyLock, response: { status: number; body: unknown; hasSecret: boolean }): Promise<void>;
  abandon(lock: IdempotencyLock): Promise<void>;
  /** Return true if a stored response shows a document that the caller can no longer read. */
  showsHidden(caller: Caller, body: unknown): Promise<boolean>;
}

/** Status of a stored response that was replaced because a document in it was deleted. */
const FORGOTTEN = 410;

/**
 * Run the handler once for an `Idempotency-Key`. A repeated request gets the first response and `Idempotency-Replayed:
 * true`. A failed request releases its key, unless PostgreSQL failed in the middle of the work, which may then be done.
 * In that case the key stays locked until the lock expires, so that an immediate retry doesn't repeat the work.
 */
export function idempotency(store: Idempotency, logger: Logger): RequestMiddleware {
  return async (ctx, next) => {
    const { state } = ctx;
    const { caller, idempotent } = state;
    if (caller === null || idempotent === null) return next();
    const { orgId } = caller;
    const start = await store.begin({ orgId, key: keyOf(caller, idempotent.key), fingerprint: idempotent.fingerprint });
    if (start.state === 'replay' && state.route?.repliesDocuments && (await store.showsHidden(caller, start.body))) {
      return next();
    }
    if (start.state === 'replay' && start.status === FORGOTTEN) throw forgotten(start.body);
    if (start.state === 'replay') {
      state.reply = { status: start.status, body: start.body, headers: { 'Idempotency-Replayed': 'true' } };
      return;
    }
    const stopExtending = keepExtending(store, start.lock, logger);
    try {
      await next();
    } catch (error) {
      if (!hasUnknownOutcome(error)) {
        await store
          .abandon(start.lock)
          .catch((fault) => logger.error({ err: fault }, 'an idempotency key was not released'));
      }
      throw error;
    } finally {
      stopExtending();
    }
    await keepReply(store, start.lock, state, logger);
  };
}

/** Create the error in place of a forgotten response, in the error shape of the route. */
function forgotten(body: unknown): AppError {
  const { detail } = body as { detail: string };
  return new AppError({ code: 'response_forgotten', status: FORGOTTEN, message: detail });
}

/** Keep extending the lock until the returned function is called, so that a long request does not count as dead. */
function keepExtending(store: Idempotency, lock: IdempotencyLock, logger: Logger): () => void {
  const timer = setInterval(() => {
    store
      .extend(lock)
      .then((isHeld) => {
        if (!isHeld) logger.warn('a request in progress has lost its idempotency key');
      })
      .catch((error) => logger.warn({ err: error }, 'the lock of an idempotency key was not extended; trying again'));
  }, store.extendEveryMs).unref();
  return () => clearInterval(timer);
}

/** Store the response. Never fail: the work is done, and an error now would make the client repeat it. */
async function keepReply(store: Idempotency, lock: IdempotencyLock, state: RequestState, logger: Logger) {
  try {
    const hasSecret = state.route?.repliesSecret ?? false;
    await store.finish(lock, { status: state.reply?.status ?? 200, body: state.reply?.body, hasSecret });
  } catch (error) {
    logger.error(
      { err: error, operation: state.route?.operationId },
      'the response of an idempotent request was not stored',
    );
  }
}

/** Derive the stored key. Each caller has separate keys, because a replay shows data that only the first may see. */
function keyOf(caller: Caller, key: string): string {
  return createHash('sha256').update(`${caller.actor}\n${key}`).digest('base64url');
}
