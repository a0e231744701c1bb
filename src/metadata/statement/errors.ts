import { AppError } from '../../platform/errors.ts';

export interface Fault {
  /** Offset in the statement, in UTF-16 units. */
  readonly at: number;
  /** Text at that position, formatted by `describe`. */
  readonly found: string;
  readonly expected: string;
  /** Suggested correction. */
  readonly meant?: string | null | undefined;
  /** Sentence that suggests what to write instead. */
  readonly help?: string | undefined;
}

/** Build the error 400 `statement_invalid`: "line L, column C: found X, expected Y (did you mean Z?)". */
export function statementFault(source: string, fault: Fault): AppError {
  const { line, column } = locate(source, fault.at);
  const meant = fault.meant ? ` (did you mean ${fault.meant}?)` : '';
  const help = fault.help ? `; ${fault.help}` : '';
  return new AppError({
    code: 'statement_invalid',
    status: 400,
    message: `line ${line}, column ${column}: found ${fault.found}, expected ${fault.expected}${meant}${help}`,
    param: 'statement',
    details: { line, column },
  });
}

/** Compute line and column of an offset, both from 1. Columns count code points. */
function locate(source: string, at: number): { line: number; column: number } {
  const lines = source.slice(0, at).split(/\r\n|\r|\n/);
  return { line: lines.length, column: Array.from(lines.at(-1) ?? '').length + 1 };
}

const SHOWN_CHARACTERS = 40;

/** Format a part of a statement for a message: truncated, with code points for invisible characters. */
export function describe(text: string): string {
  const characters = Array.from(text.slice(0, 4 * SHOWN_CHARACTERS));
  const shown = characters.slice(0, SHOWN_CHARACTERS).map((each) => (isVisible(each) ? each : codePoint(each)));
  return shown.join('') + (characters.length > SHOWN_CHARACTERS ? '…' : '');
}

/** Format a character. Add the code point if it isn't ASCII, since it may look like another character. */
export function describeCharacter(character: string): string {
  if (!isVisible(character)) return codePoint(character);
  return /^[\x21-\x7e]$/.test(character) ? character : `${character} (${codePoint(character)})`;
}

/** Return true for letters, marks, digits, punctuation, symbols and the space. */
function isVisible(character: string): boolean {
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character);
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`;
}
