import { AppError } from '../platform/errors.ts';
import { RefusalBrake, type RefusalBrakeSettings } from '../platform/refusal-brake.ts';

/**
 * Brake on guessing credentials. It counts refusals by source: an address or a key id. Beyond a source's allowance, it
 * delays each further refusal. It never delays valid credentials, so a caller's failures lock out nobody else behind
 * the same address.
 */
export class FailedLogins {
  readonly #brake: RefusalBrake;

  /** @param settings.perMinute refusals per source and minute without delay */
  constructor({
    perMinute,
    ...waits
  }: { readonly perMinute: number } & Pick<RefusalBrakeSettings, 'waitMs' | 'waitingMax'>) {
    this.#brake = new RefusalBrake({ burst: perMinute, perSecond: perMinute / 60, ...waits });
  }

  /**
   * Count a refusal, and wait if one of its sources has used up its allowance.
   *
   * @param signal ends the wait
   * @throws AppError `too_many_failed_logins` (429) if too many refusals are already waiting
   */
  async brake(sources: readonly string[], signal: () => AbortSignal): Promise<void> {
    if (!(await this.#brake.brake(sources, signal))) throw tooMany();
  }
}

function tooMany(): AppError {
  return new AppError({
    code: 'too_many_failed_logins',
    status: 429,
    message: 'too many requests with invalid credentials; wait a minute, and check the key or token',
    retryable: true,
    retryAfterSeconds: 60,
  });
}
