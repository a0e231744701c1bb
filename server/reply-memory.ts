import type { ServerResponse } from 'node:http';
import { ByteShares, type ExceededLimit } from '../src/platform/byte-shares.ts';
import { AppError } from '../src/platform/errors.ts';

/** Size up to which replies aren't counted. Small replies are too numerous to refuse, and take little memory. */
const SMALL_BYTES = 64 * 1024;

/** Owner of the replies to requests without a caller. */
const UNKNOWN = '';

export interface ReplyMemoryLimits {
  /** Memory for an organization's replies. A larger reply is sent only if the organization has no other. */
  readonly bytesOfOneMax: number;
  /** Time after which a client that reads nothing is disconnected. */
  readonly unreadMsMax: number;
}

const DEFAULT_LIMITS: ReplyMemoryLimits = { bytesOfOneMax: 128 * 1024 * 1024, unreadMsMax: 60_000 };

/**
 * Limit on the memory of replies that clients have not read yet. The kernel buffers only part of a large reply; the
 * process holds the rest until the client reads it. All organizations together may use one and a half times the limit
 * of one.
 */
export class ReplyMemory {
  readonly #limits: ReplyMemoryLimits;
  readonly #shares: ByteShares;

  constructor(limits: Partial<ReplyMemoryLimits> = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    const { bytesOfOneMax } = this.#limits;
    this.#shares = new ByteShares({ bytesMax: bytesOfOneMax * 1.5, bytesOfOneMax: () => bytesOfOneMax });
  }

  /**
   * Count a reply until its response is closed.
   * @throws AppError `server_busy` (503)
   */
  hold(orgId: string | null, bytes: number, response: ServerResponse): void {
    if (bytes <= SMALL_BYTES) return;
    const owner = orgId ?? UNKNOWN;
    const counted = Math.min(bytes, this.#limits.bytesOfOneMax);
    const exceeded = this.#shares.take(owner, counted);
    if (exceeded !== null) throw busy(exceeded);
    response.once('close', () => this.#shares.release(owner, counted));
    // Without a listener for the event, Node closes the connection.
    response.setTimeout(this.#limits.unreadMsMax);
  }
}

function busy(exceeded: ExceededLimit): AppError {
  return new AppError({
    code: 'server_busy',
    status: 503,
    message:
      exceeded === 'owner'
        ? 'other large responses to your organization have not been read; read them, and try again'
        : 'other large responses are being sent; try again',
    retryable: true,
    retryAfterSeconds: 5,
  });
}
