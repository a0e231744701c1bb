import { describe, describeCharacter, statementFault } from './errors.ts';

/** Case-insensitive keywords of the grammar. A user key with such a name must be quoted. */
export const KEYWORDS = [
  ...['SELECT', 'UPDATE', 'SOFTDELETE', 'HARDDELETE', 'FROM', 'DOCUMENTS', 'SET', 'WHERE', 'LIMIT'],
  ...['AND', 'OR', 'NOT', 'IN', 'LIKE', 'IS', 'NULL', 'TRUE', 'FALSE'],
] as const;
export type Keyword = (typeof KEYWORDS)[number];

export const COMPARISONS = ['=', '!=', '<>', '<', '<=', '>', '>='] as const;
export type ComparisonSymbol = (typeof COMPARISONS)[number];
export type SymbolText = ComparisonSymbol | '(' | ')' | ',' | ';';

interface Span {
  /** Offset of the first character, in UTF-16 units. */
  readonly at: number;
  /** Offset after the last character. */
  readonly end: number;
}

export type Token = Span &
  (
    | { readonly kind: 'keyword'; readonly keyword: Keyword }
    | { readonly kind: 'word'; readonly text: string }
    | { readonly kind: 'quoted key'; readonly text: string }
    | { readonly kind: 'string'; readonly text: string }
    | { readonly kind: 'number'; readonly text: string }
    | { readonly kind: 'symbol'; readonly symbol: SymbolText }
    /** Character that can't start a token. */
    | { readonly kind: 'stray' }
    | { readonly kind: 'end' }
  );

const KEYWORD_SET: ReadonlySet<string> = new Set(KEYWORDS);

const SPACE = /[ \t\r\n]*/y;
const WORD = /[A-Za-z_][A-Za-z0-9_.-]*/y;
const NUMBER = /-?[0-9][A-Za-z0-9_.]*(?:(?<=[eE])[-+][A-Za-z0-9_.]*)?/y;
const NUMBER_FORM = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/;
const SYMBOL = /!=|<>|<=|>=|[=<>(),;]/y;

/**
 * Read the token at or after `from`, skipping whitespace (space, tab and line breaks only).
 *
 * @throws AppError `statement_invalid` for text that starts like a token but is invalid
 */
export function readToken(source: string, from: number): Token {
  const at = from + (match(SPACE, source, from)?.length ?? 0);
  if (at >= source.length) return { kind: 'end', at, end: at };
  const word = match(WORD, source, at);
  if (word !== null) {
    const upper = word.toUpperCase();
    const span = { at, end: at + word.length };
    return KEYWORD_SET.has(upper)
      ? { kind: 'keyword', keyword: upper as Keyword, ...span }
      : { kind: 'word', text: word, ...span };
  }
  const symbol = match(SYMBOL, source, at);
  if (symbol !== null) return { kind: 'symbol', symbol: symbol as SymbolText, at, end: at + symbol.length };
  const digits = match(NUMBER, source, at);
  if (digits !== null) return readNumber(source, at, digits);
  if (source[at] === "'") return { kind: 'string', ...readQuoted(source, at, "'") };
  if (source[at] === '"') return { kind: 'quoted key', ...readQuoted(source, at, '"') };
  return { kind: 'stray', at, end: at + String.fromCodePoint(source.codePointAt(at) as number).length };
}

function match(pattern: RegExp, source: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0] ?? null;
}

/** Format a token for a message. */
export function showToken(source: string, token: Token): string {
  if (token.kind === 'end') return 'the end of the statement';
  const text = source.slice(token.at, token.end);
  return token.kind === 'stray' ? describeCharacter(text) : describe(text);
}

/** Convert a number to the form in which it is stored and compared, that of JavaScript. */
function readNumber(source: string, at: number, digits: string): Token {
  const fault = (expected: string) => statementFault(source, { at, found: describe(digits), expected });
  if (/^-?0[0-9]/.test(digits)) throw fault("a number without leading zeros, or 'text' to keep them");
  if (!NUMBER_FORM.test(digits)) throw fault("a number such as 12, -0.5 or 1e6, or 'text' in quotes");
  const value = Number(digits);
  if (!Number.isFinite(value) || !sameNumber(digits, String(value))) {
    throw fault("a number of at most 15 digits, or 'text' to keep every digit");
  }
  return { kind: 'number', text: String(value), at, end: at + digits.length };
}

/** Return true if two decimal texts denote exactly the same number. */
function sameNumber(a: string, b: string): boolean {
  const [first, second] = [a, b].map((text) => {
    const [mantissa = '', exponent = '0'] = text.toLowerCase().replace(/^-/, '').split('e');
    const [whole = '', fraction = ''] = mantissa.split('.');
    const all = whole + fraction;
    const significant = all.replace(/^0+/, '');
    const digits = significant.replace(/0+$/, '');
    return {
      digits,
      scale: digits && BigInt(exponent) - BigInt(fraction.length) + BigInt(significant.length - digits.length),
    };
  });
  return first?.digits === second?.digits && first?.scale === second?.scale;
}

/** Read quoted text. A doubled quote stands for the quote itself. */
function readQuoted(source: string, at: number, quote: "'" | '"'): { text: string } & Span {
  let end = at + 1;
  for (;;) {
    end = source.indexOf(quote, end);
    if (end === -1) {
      throw statementFault(source, {
        at,
        found: `a ${quote} that is never closed`,
        expected: `text up to another ${quote}`,
        help: `a ${quote} inside of it is written ${quote}${quote}`,
      });
    }
    if (source[end + 1] !== quote) break;
    end += 2;
  }
  const raw = source.slice(at + 1, end);
  const bad = findUnstorable(raw);
  if (bad !== -1) {
    const character = describeCharacter(raw[bad] as string);
    const expected = 'text without control characters and without halves of surrogate pairs';
    throw statementFault(source, { at: at + 1 + bad, found: character, expected });
  }
  // Names and values are stored in NFC.
  return { text: raw.replaceAll(quote + quote, quote).normalize('NFC'), at, end: end + 1 };
}

/** Find the first control character or lone surrogate, invalid in metadata (contract 2.7), or return -1. */
function findUnstorable(text: string): number {
  return text.search(/[\p{Cc}\p{Cs}]/u);
}
