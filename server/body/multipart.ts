import { isUtf8 } from 'node:buffer';
import { type AppError, invalidRequest } from '../../src/platform/errors.ts';
import { percentDecoded } from '../../src/platform/percent-encoding.ts';

/** Headers of one part of a `multipart/form-data` body. */
export interface PartHeaders {
  readonly name: string;
  /** Null for a plain field. */
  readonly fileName: string | null;
  readonly contentType: string | null;
}

/** Synchronous callbacks of the parser. `bytes` is a view into the written chunk. */
export interface PartHandler {
  partBegin(headers: PartHeaders): void;
  partData(bytes: Buffer): void;
  partEnd(): void;
}

const HEADER_BLOCK_BYTES_MAX = 8 * 1024;
const PREAMBLE_BYTES_MAX = 8 * 1024;
const BOUNDARY_CHARS_MAX = 200;
const CR = 0x0d;
const EMPTY = Buffer.alloc(0);

/** Read the boundary of a `multipart/form-data` content type; null if it has no valid one. */
export function boundaryOf(contentType: string): string | null {
  const match = /;\s*boundary=(?:"([^"]+)"|([^\s;,"]+))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2];
  return boundary !== undefined && boundary.length <= BOUNDARY_CHARS_MAX ? boundary : null;
}

/**
 * Parser of `multipart/form-data` (RFC 7578): a state machine over chunks that holds at most one chunk and one header
 * block of 8 KiB. `docs/decisions/0005-own-multipart-reader.md` explains why no library reads these bodies.
 */
export class MultipartParser {
  readonly #delimiter: Buffer;
  readonly #handler: PartHandler;
  #state: 'preamble' | 'after_delimiter' | 'headers' | 'data' | 'epilogue' = 'preamble';
  /**
   * Bytes whose meaning depends on the next chunk. It starts with a line break, which the first delimiter doesn't need
   * but all others do.
   */
  #pending: Buffer = Buffer.from('\r\n');

  constructor(boundary: string, handler: PartHandler) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
    this.#handler = handler;
  }

  /** @throws AppError 400 `invalid_multipart`, and the errors of the handler */
  write(chunk: Buffer): void {
    const bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    this.#pending = EMPTY;
    for (let at = 0; at < bytes.length; ) {
      const next = this.#step(bytes, at);
      if (next === at) {
        this.#pending = bytes.subarray(at);
        return;
      }
      at = next;
    }
  }

  /** @throws AppError 400 if the closing delimiter is missing */
  end(): void {
    if (this.#state !== 'epilogue') throw malformed('it ends before its closing boundary');
  }

  /** Run one parser step at `at`. Return the offset of the next step, or `at` itself if more bytes are needed. */
  #step(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'preamble':
        return this.#skipPreamble(bytes, at);
      case 'after_delimiter':
        return this.#readDelimiterEnd(bytes, at);
      case 'headers':
        return this.#readHeaders(bytes, at);
      case 'data':
        return this.#readData(bytes, at);
      case 'epilogue':
        return bytes.length;
    }
  }

  #skipPreamble(bytes: Buffer, at: number): number {
    const found = bytes.indexOf(this.#delimiter, at);
    if ((found === -1 ? bytes.length : found) - at > PREAMBLE_BYTES_MAX)
      throw malformed('no boundary where one must be');
    if (found === -1) return at;
    this.#state = 'after_delimiter';
    return found + this.#delimiter.length;
  }

  #readDelimiterEnd(bytes: Buffer, at: number): number {
    if (bytes.length - at < 2) return at;
    const two = bytes.toString('latin1', at, at + 2);
    if (two !== '--' && two !== '\r\n') throw malformed('a boundary is not followed by a line break');
    this.#state = two === '--' ? 'epilogue' : 'headers';
    return at + 2;
  }

  #readHeaders(bytes: Buffer, at: number): number {
    const end = bytes.indexOf('\r\n\r\n', at, 'latin1');
    const length = (end === -1 ? bytes.length : end) - at;
    if (length > HEADER_BLOCK_BYTES_MAX)
      throw malformed(`a part has more than ${HEADER_BLOCK_BYTES_MAX} bytes of headers`);
    if (end === -1) return at;
    this.#handler.partBegin(parsePartHeaders(bytes.subarray(at, end)));
    this.#state = 'data';
    return end + 4;
  }

  #readData(bytes: Buffer, at: number): number {
    const found = bytes.indexOf(this.#delimiter, at);
    const end = found === -1 ? this.#partialDelimiterFrom(bytes, at) : found;
    if (end > at) this.#handler.partData(bytes.subarray(at, end));
    if (found === -1) return end;
    this.#handler.partEnd();
    this.#state = 'after_delimiter';
    return found + this.#delimiter.length;
  }

  /** Find the offset of a possible delimiter that continues in the next chunk. */
  #partialDelimiterFrom(bytes: Buffer, from: number): number {
    const first = Math.max(from, bytes.length - this.#delimiter.length + 1);
    for (let at = bytes.indexOf(CR, first); at !== -1; at = bytes.indexOf(CR, at + 1)) {
      if (bytes.compare(this.#delimiter, 0, bytes.length - at, at, bytes.length) === 0) return at;
    }
    return bytes.length;
  }
}

function parsePartHeaders(block: Buffer): PartHeaders {
  if (!isUtf8(block)) throw malformed('the headers of a part are not valid UTF-8');
  let disposition: string | null = null;
  let contentType: string | null = null;
  for (const line of block.toString('utf8').split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon === -1) throw malformed('a header of a part has no colon');
    const value = line.slice(colon + 1).trim();
    switch (line.slice(0, colon).trim().toLowerCase()) {
      case 'content-disposition':
        disposition = value;
        break;
      case 'content-type':
        contentType = value;
        break;
      case 'content-transfer-encoding':
        // Deprecated by RFC 7578, section 4.7. These three encodings are the identity; others would need decoding.
        if (!/^(?:binary|7bit|8bit)$/i.test(value)) throw malformed('encoded parts are not supported');
    }
  }
  if (disposition === null || !/^form-data\s*(?:;|$)/i.test(disposition)) {
    throw malformed('a part has no "Content-Disposition: form-data"');
  }
  const parameters = parseParameters(disposition);
  const name = parameters.get('name');
  if (name === undefined) throw malformed('a part has no name');
  return {
    name,
    fileName: extendedValue(parameters.get('filename*')) ?? parameters.get('filename') ?? null,
    contentType,
  };
}

/** Parse the parameters of a header value, with lower-case names, in one pass without backtracking. */
function parseParameters(value: string): Map<string, string> {
  const parameters = new Map<string, string>();
  let at = value.indexOf(';');
  while (at !== -1 && at < value.length) {
    const equals = value.indexOf('=', at + 1);
    if (equals === -1) break;
    const name = value
      .slice(at + 1, equals)
      .trim()
      .toLowerCase();
    const [text, next] = value[equals + 1] === '"' ? quoted(value, equals + 2) : token(value, equals + 1);
    if (!parameters.has(name)) parameters.set(name, text);
    at = value.indexOf(';', next);
  }
  return parameters;
}

function token(value: string, from: number): [text: string, next: number] {
  const end = value.indexOf(';', from);
  return [value.slice(from, end === -1 ? undefined : end).trim(), end === -1 ? value.length : end];
}

/**
 * Read a quoted string, starting after its opening quote. Browsers write `"` as %22 and line breaks as %0D, %0A (the
 * HTML standard's encoding), other clients write `\"`; a backslash before anything else stands for itself (`C:\dir`).
 */
function quoted(value: string, from: number): [text: string, next: number] {
  let text = '';
  let at = from;
  for (; at < value.length && value[at] !== '"'; at++) {
    if (value[at] === '\\' && (value[at + 1] === '"' || value[at + 1] === '\\')) at++;
    text += value[at];
  }
  return [text.replace(/%(?:22|0A|0D)/gi, (code) => decodeURIComponent(code)), at + 1];
}

/** Decode a value such as `UTF-8''na%C3%AFve.txt` (RFC 8187); null for other character sets and malformed escapes. */
function extendedValue(value: string | undefined): string | null {
  const match = /^utf-8'[^']*'(.*)$/i.exec(value ?? '');
  return match?.[1] === undefined ? null : percentDecoded(match[1]);
}

function malformed(why: string): AppError {
  return invalidRequest(`the multipart body is malformed: ${why}`, null, 'invalid_multipart');
}
