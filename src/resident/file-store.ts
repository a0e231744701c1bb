import { grown } from './grow.ts';
import { ScratchFile } from './vectors/scratch-file.ts';

/** Size of the write buffer. */
const BUFFER_BYTES = 64 * 1024;

/** Byte strings stored consecutively in a scratch file. */
export class FileStore {
  readonly #file: ScratchFile;
  readonly #buffer = new Uint8Array(BUFFER_BYTES);
  #buffered = 0;
  /** File position at which the buffer will be written. */
  #written = 0;
  /** Position and length of each string, by string number. */
  #positions = new Float64Array(0);
  #lengths = new Uint32Array(0);
  #size = 0;

  constructor(directory: string) {
    this.#file = new ScratchFile(directory);
  }

  get memoryBytes(): number {
    return BUFFER_BYTES + this.#positions.byteLength + this.#lengths.byteLength;
  }

  /** Append a byte string. It gets the next number, counting from 0. */
  add(bytes: Uint8Array): void {
    if (this.#buffered + bytes.length > BUFFER_BYTES) this.#flush();
    this.#positions = grown(this.#positions, this.#size + 1);
    this.#lengths = grown(this.#lengths, this.#size + 1);
    this.#positions[this.#size] = this.#written + this.#buffered;
    this.#lengths[this.#size++] = bytes.length;
    if (bytes.length > BUFFER_BYTES) {
      this.#file.write(bytes, this.#written);
      this.#written += bytes.length;
    } else {
      this.#buffer.set(bytes, this.#buffered);
      this.#buffered += bytes.length;
    }
  }

  get(number: number): Uint8Array {
    const position = this.#positions[number] as number;
    const bytes = new Uint8Array(this.#lengths[number] as number);
    if (position < this.#written) this.#file.read(bytes, position);
    else bytes.set(this.#buffer.subarray(position - this.#written, position - this.#written + bytes.length));
    return bytes;
  }

  /** Overwrite the bytes of a string with zeros. */
  erase(number: number): void {
    const position = this.#positions[number] as number;
    const zeros = new Uint8Array(this.#lengths[number] as number);
    if (position < this.#written) this.#file.write(zeros, position);
    else this.#buffer.set(zeros, position - this.#written);
    this.#lengths[number] = 0;
  }

  /** Release the file and memory. Do not use the object afterwards. */
  release(): void {
    this.#file.close();
  }

  #flush(): void {
    this.#file.write(this.#buffer.subarray(0, this.#buffered), this.#written);
    this.#written += this.#buffered;
    this.#buffered = 0;
  }
}
