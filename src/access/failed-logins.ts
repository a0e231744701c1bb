import { AppError } from '../platform/errors.ts';
import { RefusalBrake, type RefusalBrakeSettings } from '../platform/refusal-brake.ts';

/**
 * Brake on guessing credentials. It counts refusals by source, which is an address or the id of a key. Beyond its
 * allowance, each further refusal of a source is delayed. Valid credentials are never delayed, so failures of another
 * caller behind the same address lock nobody out.
 */
export class FailedLogins {
  readonly #brake: RefusalBrake;

  /** @param settings.perMinute undelayed refusals of one source in a minute */
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
   * @throws AppError `too_many_failed_logins` (429) if too many refusals wait already
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
