/** RTF token (specification 1.9.1, "Basic Entities"). */
export type RtfToken =
  | { readonly type: 'open' }
  | { readonly type: 'close' }
  | { readonly type: 'word'; readonly name: string; readonly value: number | null }
  /** Bytes of text in the current encoding. */
  | { readonly type: 'bytes'; readonly bytes: Uint8Array }
  /** Byte of text, given by its code. */
  | { readonly type: 'byte'; readonly byte: number };

const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const CR = 0x0d;
const LF = 0x0a;
const WORD_CHARS_MAX = 32;

/** Characters represented by control symbols. */
const SYMBOLS: Readonly<Record<string, number>> = { '\\': 0x5c, '{': 0x7b, '}': 0x7d };

/** Yield tokens in file order, skipping binary data (`\bin`). */
export function* rtfTokens(bytes: Uint8Array): Generator<RtfToken> {
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at] as number;
    if (byte === OPEN || byte === CLOSE) {
      yield { type: byte === OPEN ? 'open' : 'close' };
      at++;
    } else if (byte === CR || byte === LF) {
      at++;
    } else if (byte === BACKSLASH) {
      const { token, end } = readControl(bytes, at + 1);
      at = end;
      if (token.type === 'word' && token.name === 'bin') at += Math.max(0, token.value ?? 0);
      else yield token;
    } else {
      let end = at + 1;
      while (end < bytes.length && !isSpecial(bytes[end] as number)) end++;
      yield { type: 'bytes', bytes: bytes.subarray(at, end) };
      at = end;
    }
  }
}

function isSpecial(byte: number): boolean {
  return byte === BACKSLASH || byte === OPEN || byte === CLOSE || byte === CR || byte === LF;
}

/** Read a control word or symbol after a backslash. */
function readControl(bytes: Uint8Array, start: number): { token: RtfToken; end: number } {
  const first = bytes[start] ?? 0;
  if (!isLetter(first)) return readSymbol(bytes, start, first);
  let at = start + 1;
  while (at < bytes.length && at - start < WORD_CHARS_MAX && isLetter(bytes[at] as number)) at++;
  const name = Buffer.from(bytes.subarray(start, at)).toString('latin1');
  let value: number | null = null;
  const isNegative = bytes[at] === 0x2d && isDigit(bytes[at + 1]);
  let digits = isNegative ? at + 1 : at;
  if (isDigit(bytes[digits])) {
    value = 0;
    for (; isDigit(bytes[digits]); digits++) value = Math.min(value * 10 + (bytes[digits] as number) - 0x30, 2 ** 31);
    if (isNegative) value = -value;
    at = digits;
  }
  // One blank ends the word and belongs to it.
  if (bytes[at] === 0x20) at++;
  return { token: { type: 'word', name, value }, end: at };
}

function readSymbol(bytes: Uint8Array, start: number, symbol: number): { token: RtfToken; end: number } {
  const name = String.fromCharCode(symbol);
  if (name === "'") {
    const code = Number.parseInt(Buffer.from(bytes.subarray(start + 1, start + 3)).toString('latin1'), 16);
    if (Number.isNaN(code)) return { token: { type: 'word', name: '', value: null }, end: start + 1 };
    return { token: { type: 'byte', byte: code }, end: start + 3 };
  }
  const character = SYMBOLS[name];
  if (character !== undefined) return { token: { type: 'byte', byte: character }, end: start + 1 };
  // A backslash at a line end ends a paragraph.
  if (symbol === CR || symbol === LF) return { token: { type: 'word', name: 'par', value: null }, end: start + 1 };
  return { token: { type: 'word', name, value: null }, end: start + 1 };
}

function isLetter(byte: number): boolean {
  return (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a);
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}
