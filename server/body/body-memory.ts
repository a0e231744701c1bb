import { ByteShares } from '../../src/platform/byte-shares.ts';
import { AppError } from '../../src/platform/errors.ts';

/** Size up to which bodies aren't counted. Small bodies are too numerous to refuse, and take little memory. */
const SMALL_BYTES = 64 * 1024;

/** Owner of bodies with an unknown sender: webhook bodies before their signature is verified. */
const UNKNOWN = '';

/** Memory that one body takes. It grows while the body arrives. */
export interface BodyReservation {
  /** Count received bytes. @throws AppError `server_busy` (503) */
  add(bytes: number): void;
  /** Release the memory. Don't add bytes afterwards. */
  release(): void;
}

/**
 * Limit on the memory of all request bodies in progress. It counts bytes when they arrive, not when they are announced,
 * so that a client that announces much and sends slowly takes no memory from others. An organization can use at most
 * three quarters of the memory, so that none can starve the others. All requests with an unknown sender share an eighth
 * of the largest body.
 */
export class BodyMemory {
  readonly #shares: ByteShares;

  /** @param bodyBytesMax maximum body size; such a body fits if its organization sends no other */
  constructor(bodyBytesMax: number) {
    const bytesOfUnknownMax = Math.ceil(bodyBytesMax / 8);
    this.#shares = new ByteShares({
      bytesMax: Math.ceil((bodyBytesMax * 4) / 3),
      bytesOfOneMax: (owner) => (owner === UNKNOWN ? bytesOfUnknownMax : bodyBytesMax),
    });
  }

  /** Open a reservation. @param orgId null for a request without a caller; all such requests share one allowance */
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
