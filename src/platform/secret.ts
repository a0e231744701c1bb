import { inspect } from 'node:util';

/** Credential that cannot be printed: string conversion, JSON, inspection and logs all show `***`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Return the clear value. Call this only at the place of use. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '***';
  }

  toJSON(): string {
    return '***';
  }

  [inspect.custom](): string {
    return '***';
  }
}
