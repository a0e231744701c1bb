/** List of the open parts, which are closed in reverse order. */
export class OpenParts {
  readonly #parts: { close?(): Promise<void> | void }[] = [];

  /** @returns the part itself */
  add<P extends { close?(): Promise<void> | void }>(part: P): P {
    this.#parts.push(part);
    return part;
  }

  async close(): Promise<void> {
    for (const part of this.#parts.splice(0).reverse()) await part.close?.();
  }
}
