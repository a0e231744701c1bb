import { inspect } from 'node:util';

/** Credential that can't be printed: string conversion, JSON, inspection and logs all show `***`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Return the plain value. Call this only at the point of use. */
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
