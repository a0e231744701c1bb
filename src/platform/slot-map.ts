/**
 * Values that come and go often, by ids. The id of a value that was removed is given to a later one, so that an id must not
 * be used after it.
 *
 * It holds what is in progress, for which a Set or Map is the wrong place. After some removals V8 replaces the table of such
 * a collection, and the old table refers to the new one. Once a table has become old, all that follow it, and the values that
 * were in them when they were replaced, survive every collection of young objects and become old too, until the next
 * collection of the whole heap; and then it begins anew.
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
