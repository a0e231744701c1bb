/** Open parts, to be closed in reverse order. */
export class OpenParts {
  readonly #parts: { close?(): Promise<void> | void }[] = [];

  /** @returns the part itself */
  add<P extends { close?(): Promise<void> | void }>(part: P): P {
    this.#parts.push(part);
    return part;
  }

  /** Close all parts. @throws the error of the first part that fails, once the others are closed */
  async close(): Promise<void> {
    const faults: unknown[] = [];
    for (const part of this.#parts.splice(0).reverse()) {
      try {
        await part.close?.();
      } catch (error) {
        faults.push(error);
      }
    }
    if (faults.length > 0) throw faults[0];
  }
}
