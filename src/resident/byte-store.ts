/** Size of the first page. Each later page is as large as all pages before it together, up to the maximum. */
const FIRST_PAGE_BYTES = 16 * 1024;
const PAGE_BYTES = 128 * 1024;

/** Byte strings, stored one after the other in pages. A long string has a page of its own. */
export class ByteStore {
  readonly #pages: Uint8Array[] = [];
  /** Used bytes of the last page. */
  #used = 0;
  /** Page, start in the page, and length of each string, by its number. */
  #places = new Uint32Array(0);
  #size = 0;
  #pageBytes = 0;

  get memoryBytes(): number {
    return this.#pageBytes + this.#places.byteLength;
  }

  /** Append a byte string. Its number is the next one, from 0. */
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

  /** Free bytes of the last page; -1 if there is no page, not even for an empty string. */
  get #left(): number {
    const page = this.#pages.at(-1);
    return page ? page.length - this.#used : -1;
  }

  /** Return the bytes of the string with this number. Do not write to the view. */
  get(number: number): Uint8Array {
    const [page = 0, start = 0, length = 0] = this.#places.subarray(number * 3, number * 3 + 3);
    return (this.#pages[page] as Uint8Array).subarray(start, start + length);
  }

  /** Overwrite the bytes of the string with this number by zeros. */
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
