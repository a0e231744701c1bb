import { ExtractError } from '../errors.ts';

const QUOTE = 0x22;
const CR = 0x0d;
const LF = 0x0a;
const FIELD_CHARS_MAX = 1024 * 1024;
const CELLS_MAX = 16_384;
const ROW_CHARS_MAX = 16 * 1024 * 1024;

type State = 'start' | 'plain' | 'quoted' | 'quote_seen';

/**
 * Streaming parser of comma-separated values (RFC 4180). It accepts the newlines of every system, and newlines and
 * doubled quotes within quoted fields. A quote elsewhere is literal.
 */
export class CsvParser {
  readonly #delimiter: number;
  readonly #onRow: (cells: string[]) => void;
  #state: State = 'start';
  #field = '';
  #cells: string[] = [];
  #rows = 0;
  #rowChars = 0;
  #skipsLf = false;

  constructor(delimiter: string, onRow: (cells: string[]) => void) {
    this.#delimiter = delimiter.charCodeAt(0);
    this.#onRow = onRow;
  }

  /**
   * Parse the next part of the text.
   * @throws ExtractError `corrupt` for an unterminated field, `too_large` for a row with too many cells or characters
   */
  write(text: string): void {
    let start = 0;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (this.#skipsLf) {
        this.#skipsLf = false;
        if (code === LF) {
          start = at + 1;
          continue;
        }
      }
      switch (this.#state) {
        case 'start':
        case 'plain':
          if (code === this.#delimiter) {
            this.#endField(text.slice(start, at));
            start = at + 1;
          } else if (code === LF || code === CR) {
            this.#endField(text.slice(start, at));
            this.#endRow(code);
            start = at + 1;
          } else if (code === QUOTE && this.#state === 'start') {
            this.#state = 'quoted';
            start = at + 1;
          } else {
            this.#state = 'plain';
          }
          break;
        case 'quoted':
          if (code !== QUOTE) break;
          this.#append(text.slice(start, at));
          this.#state = 'quote_seen';
          start = at + 1;
          break;
        case 'quote_seen':
          start = at + 1;
          if (code === QUOTE) {
            this.#append('"');
            this.#state = 'quoted';
          } else if (code === this.#delimiter) {
            this.#endField('');
          } else if (code === LF || code === CR) {
            this.#endField('');
            this.#endRow(code);
          } else {
            this.#state = 'plain';
            start = at;
          }
          break;
        default:
      }
    }
    if (this.#state === 'plain' || this.#state === 'quoted') this.#append(text.slice(start));
  }

  end(): void {
    if (this.#state === 'quoted') throw this.#unterminated();
    if (this.#cells.length > 0 || this.#field !== '') {
      this.#endField('');
      this.#endRow(LF);
    }
  }

  #append(text: string): void {
    this.#field += text;
    if (this.#field.length > FIELD_CHARS_MAX) throw this.#unterminated();
  }

  #endField(text: string): void {
    const cell = this.#field === '' ? text : this.#field + text;
    this.#cells.push(cell);
    this.#rowChars += cell.length;
    this.#field = '';
    this.#state = 'start';
    if (this.#cells.length > CELLS_MAX) {
      throw new ExtractError('too_large', `row ${this.#rows + 1} has more than ${CELLS_MAX} cells`);
    }
    if (this.#rowChars > ROW_CHARS_MAX) {
      throw new ExtractError('too_large', `row ${this.#rows + 1} has more than ${ROW_CHARS_MAX} characters`);
    }
  }

  #endRow(newline: number): void {
    this.#rows++;
    this.#skipsLf = newline === CR;
    const cells = this.#cells;
    this.#cells = [];
    this.#rowChars = 0;
    this.#onRow(cells);
  }

  #unterminated(): ExtractError {
    return new ExtractError('corrupt', `row ${this.#rows + 1} has a field that does not end`);
  }
}
