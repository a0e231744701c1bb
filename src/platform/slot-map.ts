/**
 * Values that come and go often, by ids. A later value gets the id of a removed one, so do not use an id after its
 * removal.
 *
 * It holds work in progress, for which a Set or Map performs badly. After some removals V8 replaces the table of such a
 * collection, and the old table refers to the new one. Once a table has become old, all later tables, and the values in
 * them when they were replaced, survive every collection of young objects and become old too. Only the next collection
 * of the whole heap frees them; then this begins again.
 */
export class SlotMap<Value extends object> implements Iterable<Value> {
  readonly #values: (Value | undefined)[] = [];
  readonly #freeIds: number[] = [];

  get size(): number {
    return this.#values.length - this.#freeIds.length;
  }

  /** Add a value. Returns its id, a small integer. */
  add(value: Value): number {
    const id = this.#freeIds.pop() ?? this.#values.length;
    this.#values[id] = value;
    return id;
  }

  get(id: number): Value | undefined {
    return this.#values[id];
  }

  /** Remove a value; does nothing if none has the id. */
  delete(id: number): void {
    if (this.#values[id] === undefined) return;
    this.#values[id] = undefined;
    this.#freeIds.push(id);
  }

  /** Iterate over the values in no particular order. They may be removed meanwhile. */
  *[Symbol.iterator](): Generator<Value, void, undefined> {
    for (const value of this.#values) if (value !== undefined) yield value;
  }
}
