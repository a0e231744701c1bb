import { X509Certificate } from 'node:crypto';
import { startDeadline } from '../../src/platform/deadline.ts';
import { AppError } from '../../src/platform/errors.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import type { Logger } from '../../src/platform/logger.ts';
import { boundedLine } from '../../src/platform/printable.ts';
import { repeatingTask } from '../../src/platform/repeating-task.ts';
import type { AcmeSettings } from '../../src/platform/tls-settings.ts';
import { AcmeStore, type Failure } from './acme-store.ts';
import { type Certificates, expiryOf, faultOf, type Identity } from './certificates.ts';
import type { ChallengeAnswers } from './redirect-server.ts';

const MINUTE_MS = 60_000;
const LOOK_MS = MINUTE_MS;
const ORDER_MS_MAX = 5 * MINUTE_MS;
const REASON_CHARS_MAX = 500;
/** Pauses after consecutive failed attempts. Let's Encrypt allows five failures an hour. */
const PAUSES_MS = [1, 5, 15, 60, 360].map((minutes) => minutes * MINUTE_MS);
/** Maximum pause that an authority may ask for. Let's Encrypt counts certificates over a week. */
const WAIT_MS_MAX = 7 * 24 * 60 * MINUTE_MS;
/** Remaining fraction of its lifetime at which a certificate is renewed, which leaves time for many attempts. */
const RENEWED_AT = 1 / 3;

/** Certificate that an authority issues by ACME (RFC 8555), renewed before it expires. */
export class AcmeCertificates implements Certificates {
  readonly #settings: AcmeSettings;
  readonly #store: AcmeStore;
  readonly #answers: ChallengeAnswers;
  readonly #logger: Logger;
  readonly #lookMs: number;
  readonly #stop = new AbortController();
  #watching: Service | null = null;
  #present: Identity | null = null;

  constructor(
    settings: AcmeSettings,
    context: {
      readonly dataDir: string;
      readonly answers: ChallengeAnswers;
      readonly logger: Logger;
      /** Interval for checking the certificate (default: a minute). */
      readonly lookMs?: number;
    },
  ) {
    this.#settings = settings;
    this.#store = new AcmeStore(context.dataDir, settings);
    this.#answers = context.answers;
    this.#logger = context.logger;
    this.#lookMs = context.lookMs ?? LOOK_MS;
  }

  /**
   * Return the stored certificate, even if expired, or get a first one.
   *
   * @throws AppError `certificate_unavailable`
   */
  async open(signal: AbortSignal): Promise<Identity> {
    const stored = await this.#store.readIdentity();
    const { domain } = this.#settings;
    if (stored !== null && faultOf(stored, domain) === null) {
      if (expiryOf(stored) < Date.now()) this.#logger.error({ domain }, 'the certificate has expired; renewing it now');
      this.#present = stored;
      return stored;
    }
    const earlier = await this.#store.readFailure();
    if (earlier !== null && Date.now() < earlier.notBeforeMs) throw this.#unavailable(earlier);
    const first = await this.#get(signal);
    if ('notBeforeMs' in first) throw this.#unavailable(first);
    return first;
  }

  watch(onChange: (identity: Identity) => void): void {
    const look = async () => {
      if (this.#present !== null && !isDue(this.#present)) return;
      const earlier = await this.#store.readFailure();
      if (earlier !== null && Date.now() < earlier.notBeforeMs) return;
      const renewed = await this.#get(this.#stop.signal);
      if (!('notBeforeMs' in renewed)) onChange(renewed);
    };
    this.#watching = repeatingTask('renewal of the certificate', this.#lookMs, this.#logger, look);
    void this.#watching.start(new AbortController().signal);
  }

  async close(): Promise<void> {
    // Keep this order, so that stopping a renewal doesn't count as its failure.
    const stopped = this.#watching?.stop();
    this.#stop.abort();
    await stopped;
  }

  /** Get a certificate and store it. If that fails, store and return the failure. */
  async #get(signal: AbortSignal): Promise<Identity | Failure> {
    const { domain, directoryUrl, caFile } = this.#settings;
    const { orderCertificate } = await import('./order-certificate.ts'); // the library takes a while to load
    const { withTransport } = await import('./acme-transport.ts');
    const deadline = startDeadline(ORDER_MS_MAX, AbortSignal.any([signal, this.#stop.signal]));
    const within = deadline.signal;
    let waitSeconds = 0;
    const onWait = (seconds: number) => {
      waitSeconds = seconds;
    };
    try {
      const accountKey = await this.#store.accountKey();
      const identity = await withTransport({ signal: within, caFile, onWait }, () =>
        orderCertificate(this.#settings, { accountKey, answers: this.#answers, signal: within }),
      );
      const fault = faultOf(identity, domain);
      if (fault !== null) throw new Error(`the certificate of the authority cannot be used: ${fault}`);
      await this.#store.writeIdentity(identity);
      await this.#store.writeFailure(null);
      this.#present = identity;
      this.#logger.info({ domain, expires_at: new Date(expiryOf(identity)) }, 'got a certificate');
      return identity;
    } catch (error) {
      // A stop isn't a failure of the authority.
      if (signal.aborted || this.#stop.signal.aborted) throw error;
      return this.#noteFailure(reasonOf(error, within), waitSeconds, directoryUrl);
    } finally {
      deadline.clear();
    }
  }

  async #noteFailure(reason: string, waitSeconds: number, directoryUrl: string): Promise<Failure> {
    const count = ((await this.#store.readFailure())?.count ?? 0) + 1;
    const pauseMs = PAUSES_MS[Math.min(count, PAUSES_MS.length) - 1] as number;
    const notBeforeMs = Date.now() + Math.max(pauseMs, Math.min(waitSeconds * 1000, WAIT_MS_MAX));
    const failure = { count, reason, notBeforeMs };
    await this.#store.writeFailure(failure);
    const about = { domain: this.#settings.domain, authority: directoryUrl, reason, next_at: new Date(notBeforeMs) };
    const expiresMs = this.#present === null ? null : expiryOf(this.#present);
    if (expiresMs !== null && expiresMs < Date.now())
      this.#logger.error(about, 'the expired certificate was not renewed');
    else this.#logger.warn(about, 'no certificate could be got; trying again later');
    return failure;
  }

  #unavailable({ reason, notBeforeMs }: Failure): AppError {
    const { domain, directoryUrl } = this.#settings;
    return new AppError({
      code: 'certificate_unavailable',
      status: 503,
      message:
        `there is no certificate for ${domain} from ${directoryUrl}: ${reason}. ` +
        `The next attempt may begin at ${new Date(notBeforeMs).toISOString()}; changed settings may be tried at once.`,
    });
  }
}

function isDue(identity: Identity): boolean {
  const { validFromDate, validToDate } = new X509Certificate(identity.chain);
  const leftMs = validToDate.getTime() - Date.now();
  return leftMs < (validToDate.getTime() - validFromDate.getTime()) * RENEWED_AT;
}

function reasonOf(error: unknown, within: AbortSignal): string {
  if (within.aborted) return `the authority took longer than ${ORDER_MS_MAX / MINUTE_MS} minutes`;
  const {
    message = String(error),
    cause,
    code,
  } = error as { message?: string; cause?: { message?: string }; code?: string };
  const text = message || cause?.message || code || 'unknown';
  return boundedLine(text, REASON_CHARS_MAX).replace(/\.$/, '');
}
