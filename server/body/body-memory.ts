import { ByteShares } from '../../src/platform/byte-shares.ts';
import { AppError } from '../../src/platform/errors.ts';

/** Size up to which bodies are not counted. Small bodies are too many to refuse, and take little memory. */
const SMALL_BYTES = 64 * 1024;

/** Owner of the bodies whose sender is unknown: those of the webhook, before its signature is verified. */
const UNKNOWN = '';

/** Memory that one body takes. It grows while the body arrives. */
export interface BodyReservation {
  /** Count bytes that arrived. @throws AppError `server_busy` (503) */
  add(bytes: number): void;
  /** Give the memory back. Further bytes must not be added. */
  release(): void;
}

/**
 * Limit on the memory of the bodies of all requests in progress. Bytes are counted when they arrive, not when they are
 * announced, so that a client that announces much and sends slowly takes no memory from others. An organization has at
 * most three quarters of the memory, so that none can keep the others out. All requests with a still unknown sender
 * together have an eighth of the largest body.
 */
export class BodyMemory {
  readonly #shares: ByteShares;

  /** @param bodyBytesMax size of the largest body, which fits while its organization sends no other */
  constructor(bodyBytesMax: number) {
    const bytesOfUnknownMax = Math.ceil(bodyBytesMax / 8);
    this.#shares = new ByteShares({
      bytesMax: Math.ceil((bodyBytesMax * 4) / 3),
      bytesOfOneMax: (owner) => (owner === UNKNOWN ? bytesOfUnknownMax : bodyBytesMax),
    });
  }

  /** Begin a reservation. @param orgId null for a request without a caller; such requests share one part */
  open(orgId: string | null): BodyReservation {
    const owner = orgId ?? UNKNOWN;
    let arrivedBytes = 0;
    let countedBytes = 0;
    let isReleased = false;
    return {
      add: (bytes) => {
        if (isReleased) return;
        arrivedBytes += bytes;
        if (arrivedBytes <= SMALL_BYTES) return;
        const more = arrivedBytes - countedBytes;
        this.#take(owner, more);
        countedBytes += more;
      },
      release: () => {
        if (isReleased) return;
        isReleased = true;
        this.#shares.release(owner, countedBytes);
      },
    };
  }

  /** @throws AppError `server_busy` (503) */
  #take(owner: string, bytes: number): void {
    const exceeded = this.#shares.take(owner, bytes);
    if (exceeded === null) return;
    const isOwn = exceeded === 'owner' && owner !== UNKNOWN;
    throw busy(isOwn ? 'other large requests of your organization are' : 'other large requests are');
  }
}

function busy(reason: string): AppError {
  return new AppError({
    code: 'server_busy',
    status: 503,
    message: `${reason} being read; try again`,
    retryable: true,
    retryAfterSeconds: 5,
  });
}
