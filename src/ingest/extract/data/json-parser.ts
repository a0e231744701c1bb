import { ExtractError } from '../errors.ts';

const DEPTH_MAX = 512;
const STRING_CHARS_MAX = 16 * 1024 * 1024;
const TOKEN_CHARS_MAX = 1_000;
const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)$/;

export interface JsonHandler {
  open(kind: 'object' | 'array'): void;
  close(kind: 'object' | 'array'): void;
  key(key: string): void;
  /** Handle a scalar. @param isString false for a number, `true`, `false` or `null`, as written */
  value(text: string, isString: boolean): void;
  /** True to let the parser drop a string of any length that the handler doesn't need. */
  readonly isIgnored?: boolean;
}

/** Next expected token within the innermost array or object, or at the top level. */
type Expected = 'value' | 'first_value' | 'key' | 'first_key' | 'colon' | 'comma';

/**
 * Streaming parser of JSON (RFC 8259) that emits events. Any number of values may follow each other, as in JSON Lines.
 * It never holds the whole text.
 */
export class JsonParser {
  readonly #handler: JsonHandler;
  readonly #stack: Array<'object' | 'array'> = [];
  #expected: Expected = 'value';
  #line = 1;
  /** Parts of the open string; null if none is open. */
  #string: string[] | null = null;
  #stringChars = 0;
  #hasEscape = false;
  #isEscaped = false;
  /** Number or word that may continue in the next part of the text. */
  #token = '';

  constructor(handler: JsonHandler) {
    this.#handler = handler;
  }

  /**
   * Parse the next part of the text.
   * @throws ExtractError `corrupt` for invalid JSON, `too_large` for a string of more than 16 Mi characters
   */
  write(text: string): void {
    let at = 0;
    while (at < text.length) at = this.#string === null ? this.#takeToken(text, at) : this.#takeString(text, at);
  }

  /** @param options.mayBeCutOff true if the last value may be incomplete, as in a log that is still being written */
  end(options: { mayBeCutOff: boolean }): void {
    if (this.#token !== '') this.#endToken();
    if (this.#string === null && this.#stack.length === 0) return;
    if (!options.mayBeCutOff) throw this.#fault('the text ends too early');
    for (let kind = this.#stack.pop(); kind !== undefined; kind = this.#stack.pop()) this.#handler.close(kind);
  }

  #takeToken(text: string, start: number): number {
    let at = start;
    while (at < text.length) {
      const character = text[at] as string;
      if (/[\w.+-]/.test(character)) {
        const from = at;
        while (at < text.length && /[\w.+-]/.test(text[at] as string)) at++;
        this.#token += text.slice(from, at);
        if (this.#token.length > TOKEN_CHARS_MAX) throw this.#fault('a number is too long');
        continue;
      }
      if (this.#token !== '') this.#endToken();
      at++;
      if (character === '"') {
        this.#openString();
        return at;
      }
      if (character === '\n') this.#line++;
      else if (character !== ' ' && character !== '\t' && character !== '\r') this.#takeMark(text, at - 1);
    }
    return at;
  }

  #takeMark(text: string, at: number): void {
    const mark = text[at] as string;
    if (mark === '{' || mark === '[') this.#open(mark === '{' ? 'object' : 'array');
    else if (mark === '}' || mark === ']') this.#close(mark === '}' ? 'object' : 'array');
    else if (mark === ',' && this.#expected === 'comma' && this.#stack.length > 0) {
      this.#expected = this.#stack.at(-1) === 'object' ? 'key' : 'value';
    } else if (mark === ':' && this.#expected === 'colon') this.#expected = 'value';
    else if (mark !== '\ufeff') {
      const found = String.fromCodePoint(text.codePointAt(at) as number);
      throw this.#fault(`${JSON.stringify(found)} is out of place`);
    }
  }

  #open(kind: 'object' | 'array'): void {
    this.#expectValue();
    if (this.#stack.length >= DEPTH_MAX) throw new ExtractError('corrupt', 'the document is nested too deeply');
    this.#stack.push(kind);
    this.#expected = kind === 'object' ? 'first_key' : 'first_value';
    this.#handler.open(kind);
  }

  #close(kind: 'object' | 'array'): void {
    const isEmpty = this.#expected === (kind === 'object' ? 'first_key' : 'first_value');
    if (this.#stack.at(-1) !== kind || !(isEmpty || this.#expected === 'comma')) {
      throw this.#fault(`"${kind === 'object' ? '}' : ']'}" is out of place`);
    }
    this.#stack.pop();
    this.#expected = this.#stack.length === 0 ? 'value' : 'comma';
    this.#handler.close(kind);
  }

  #expectValue(): void {
    if (this.#expected !== 'value' && this.#expected !== 'first_value') throw this.#fault('a value is out of place');
  }

  #endToken(): void {
    const token = this.#token;
    this.#token = '';
    if (!SCALAR.test(token)) throw this.#fault(`"${token.slice(0, 20)}" is not a value`);
    this.#expectValue();
    this.#expected = this.#stack.length === 0 ? 'value' : 'comma';
    this.#handler.value(token, false);
  }

  #openString(): void {
    const isKey = this.#expected === 'key' || this.#expected === 'first_key';
    if (!isKey) this.#expectValue();
    this.#string = [];
    this.#stringChars = 0;
    this.#hasEscape = false;
    this.#isEscaped = false;
  }

  #takeString(text: string, start: number): number {
    let at = start;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (this.#isEscaped) {
        this.#isEscaped = false;
      } else if (code === 0x5c) {
        this.#isEscaped = true;
        this.#hasEscape = true;
      } else if (code === 0x22) {
        this.#string?.push(text.slice(start, at));
        this.#endString();
        return at + 1;
      } else if (code === 0x0a) {
        throw this.#fault('a string does not end');
      }
    }
    this.#string?.push(text.slice(start));
    this.#stringChars += text.length - start;
    if (this.#stringChars > STRING_CHARS_MAX && this.#handler.isIgnored === true) this.#string = [];
    else if (this.#stringChars > STRING_CHARS_MAX)
      throw new ExtractError('too_large', 'the document has a string of too many characters');
    return at;
  }

  #endString(): void {
    const raw = (this.#string as string[]).join('');
    this.#string = null;
    const text = this.#hasEscape ? this.#unescape(raw) : raw;
    if (this.#expected === 'key' || this.#expected === 'first_key') {
      this.#expected = 'colon';
      this.#handler.key(text);
    } else {
      this.#expected = this.#stack.length === 0 ? 'value' : 'comma';
      this.#handler.value(text, true);
    }
  }

  #unescape(raw: string): string {
    try {
      // Tolerate control characters such as tabs, although JSON forbids them in a string.
      return JSON.parse(`"${raw.replace(CONTROL, ' ')}"`) as string;
    } catch {
      throw this.#fault('a string has an unknown escape');
    }
  }

  #fault(what: string): ExtractError {
    return new ExtractError('corrupt', `the file is not valid JSON: line ${this.#line}: ${what}`);
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
const CONTROL = /[\u0000-\u001f]/g;
