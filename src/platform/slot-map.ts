/**
 * Short-lived values by id. Ids of removed values are reused, so don't use an id after its removal.
 *
 * Use it for work in progress, for which a Set or Map performs badly. After some removals, V8 replaces the table of
 * such a collection, and the old table refers to the new one. Once a table is in the old generation, all later tables,
 * and the values in them when they were replaced, survive every minor collection and are promoted too. Only the next
 * major collection frees them; then this begins again.
 */
export class SlotMap<Value extends object> implements Iterable<Value> {
  readonly #values: (Value | undefined)[] = [];
  readonly #freeIds: number[] = [];

  get size(): number {
    return this.#values.length - this.#freeIds.length;
  }

  /** Add a value. Return its id, a small integer. */
  add(value: Value): number {
    const id = this.#freeIds.pop() ?? this.#values.length;
    this.#values[id] = value;
    return id;
  }

  get(id: number): Value | undefined {
    return this.#values[id];
  }

  /** Remove a value. Do nothing if the id is unused. */
  delete(id: number): void {
    if (this.#values[id] === undefined) return;
    this.#values[id] = undefined;
    this.#freeIds.push(id);
  }

  /** Iterate over the values in arbitrary order. Values may be removed during the iteration. */
  *[Symbol.iterator](): Generator<Value, void, undefined> {
    for (const value of this.#values) if (value !== undefined) yield value;
  }
}
