import pLimit from 'p-limit';
import { AppError, invalidRequest } from '../../platform/errors.ts';

/** Lengths of a password in characters. NIST SP 800-63B asks for at least 8 and at most 64 or more. */
const CHARS_MIN = 10;
export const PASSWORD_CHARS_MAX = 200;
const DIFFERENT_CHARS_MIN = 5;

/** Argon2id with the parameters of the OWASP Password Storage Cheat Sheet: 19 MiB, two passes, one lane. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Maximum concurrent computations. Each takes a core for some tens of milliseconds. */
const AT_ONCE_MAX = 2;
const WAITING_MAX = 50;

/** Hashes and verifies passwords, with limited concurrency. */
export class Passwords {
  readonly #turns = pLimit(AT_ONCE_MAX);
  #decoy: Promise<string> | null = null;

  /**
   * Hash a new password.
   *
   * @returns PHC string
   * @throws AppError `password_weak` (400) with `param`, `too_many_sign_ins` (429)
   */
  async hash(password: string, email: string): Promise<string> {
    const text = normalize(password);
    const fault = faultOf(text, email);
    if (fault !== null) throw invalidRequest(`password: ${fault}`, 'password', 'password_weak');
    return this.#run(async ({ hash }) => hash(text, PARAMETERS));
  }

  /** Compare a password with a hash. @throws AppError `too_many_sign_ins` (429) */
  async verify(passwordHash: string, password: string): Promise<boolean> {
    return this.#run(async ({ verify }) => verify(passwordHash, normalize(password)));
  }

  /** Take as long as `verify`, for an address without an account. */
  async verifyNothing(password: string): Promise<void> {
    this.#decoy ??= this.#run(async ({ hash }) => hash('no password', PARAMETERS));
    await this.verify(await this.#decoy, password);
  }

  async #run<T>(work: (argon2: typeof import('@node-rs/argon2')) => Promise<T>): Promise<T> {
    if (this.#turns.pendingCount >= WAITING_MAX) throw tooMany();
    return this.#turns(async () => work(await import('@node-rs/argon2')));
  }
}

/** Normalise a password, since keyboards can produce different Unicode forms of it (NIST SP 800-63B, 5.1.1.2). */
function normalize(password: string): string {
  return password.normalize('NFKC');
}

function faultOf(password: string, email: string): string | null {
  const characters = [...password];
  if (characters.length < CHARS_MIN) return `choose at least ${CHARS_MIN} characters`;
  if (new Set(characters).size < DIFFERENT_CHARS_MIN) return 'choose more different characters';
  const lower = password.toLowerCase();
  if (lower.includes(email) || lower === email.split('@')[0]) return 'choose one without your email address';
  return null;
}

function tooMany(): AppError {
  return new AppError({
    code: 'too_many_sign_ins',
    status: 429,
    message: 'too many people sign in at this moment; try again in a few seconds',
    retryable: true,
    retryAfterSeconds: 5,
  });
}
