/** Size of the first page. Each later page is as large as all previous pages together, up to the maximum. */
const FIRST_PAGE_BYTES = 16 * 1024;
const PAGE_BYTES = 128 * 1024;

/** Byte strings stored consecutively in pages. A long string gets its own page. */
export class ByteStore {
  readonly #pages: Uint8Array[] = [];
  /** Bytes used in the last page. */
  #used = 0;
  /** Page, offset in the page, and length of each string, by string number. */
  #places = new Uint32Array(0);
  #size = 0;
  #pageBytes = 0;

  get memoryBytes(): number {
    return this.#pageBytes + this.#places.byteLength;
  }

  /** Append a byte string. It gets the next number, counting from 0. */
  add(bytes: Uint8Array): void {
    const isLong = bytes.length > FIRST_PAGE_BYTES;
    if (isLong) this.#openPage(bytes.length);
    else if (bytes.length > this.#left)
      this.#openPage(Math.min(PAGE_BYTES, Math.max(FIRST_PAGE_BYTES, this.#pageBytes)));
    const page = this.#pages.length - 1;
    (this.#pages[page] as Uint8Array).set(bytes, this.#used);
    this.#reserve();
    this.#places.set([page, this.#used, bytes.length], this.#size++ * 3);
    this.#used += bytes.length;
  }

  /** Free bytes in the last page; -1 if there is no page, so that even an empty string needs one. */
  get #left(): number {
    const page = this.#pages.at(-1);
    return page ? page.length - this.#used : -1;
  }

  /** Return the bytes of a string. Do not write to the view. */
  get(number: number): Uint8Array {
    const [page = 0, start = 0, length = 0] = this.#places.subarray(number * 3, number * 3 + 3);
    return (this.#pages[page] as Uint8Array).subarray(start, start + length);
  }

  /** Overwrite the bytes of a string with zeros. */
  erase(number: number): void {
    this.get(number).fill(0);
    this.#places[number * 3 + 2] = 0;
  }

  #openPage(bytes: number): void {
    this.#pages.push(new Uint8Array(bytes));
    this.#pageBytes += bytes;
    this.#used = 0;
  }

  #reserve(): void {
    if (this.#places.length >= (this.#size + 1) * 3) return;
    const larger = new Uint32Array(Math.max(64, Math.ceil(this.#size * 1.25)) * 3);
    larger.set(this.#places);
    this.#places = larger;
  }
}
