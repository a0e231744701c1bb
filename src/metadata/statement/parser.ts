import { isLonger } from '../../documents/user-metadata.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { findNearest } from '../../platform/nearest-word.ts';
import { describe, type Fault, statementFault } from './errors.ts';
import { resolveAssignmentKey, resolveConditionKey, type WrittenKey } from './keys.ts';
import {
  COMPARISONS,
  type ComparisonSymbol,
  type Keyword,
  readToken,
  type SymbolText,
  showToken,
  type Token,
} from './lexer.ts';
import type { Assignment, ComparisonOperator, Condition, Statement, Subject, Value } from './syntax.ts';

export const STATEMENT_LIMITS = { characters: 4000, nesting: 20, conditions: 50, limit: 2000 } as const;

/** Statement operations, by their first keyword. */
export const STATEMENT_OPERATIONS = ['SELECT', 'UPDATE', 'SOFTDELETE', 'HARDDELETE'] as const satisfies Keyword[];

/**
 * Parse a statement of the restricted language, in time linear in the length of the text.
 *
 *     statement  = ( select | update | softdelete | harddelete ) [";"] ;
 *     select     = "SELECT" "documents" ["WHERE" cond] ["LIMIT" int] ;
 *     update     = "UPDATE" "documents" "SET" assign {"," assign} "WHERE" cond ["LIMIT" int] ;
 *     softdelete = "SOFTDELETE" "FROM" "documents" "WHERE" cond ["LIMIT" int] ;
 *     harddelete = "HARDDELETE" "FROM" "documents" "WHERE" cond ["LIMIT" int] ;
 *     assign     = key "=" value ;
 *     cond       = and {"OR" and} ; and = not {"AND" not} ; not = ["NOT"] prim ;
 *     prim       = "(" cond ")" | key op value | key ["NOT"] "IN" "(" value {"," value} ")"
 *                | key ["NOT"] "LIKE" string | key "IS" ["NOT"] "NULL" ;
 *
 * @throws AppError `statement_invalid` (400) with line, column, what was found and what was expected
 */
export function parseStatement(source: string): Statement {
  requireLength(source, 'statement');
  return new Parser(source).readStatement();
}

/** Parse only the condition of a statement. @throws AppError `statement_invalid` (400) */
export function parseCondition(source: string): Condition {
  requireLength(source, 'condition');
  return new Parser(source).readCondition();
}

function requireLength(source: string, name: string): void {
  if (!isLonger(source, STATEMENT_LIMITS.characters)) return;
  const message = `the ${name} has more than ${STATEMENT_LIMITS.characters} characters`;
  throw invalidRequest(message, 'statement', 'statement_invalid');
}

class Parser {
  readonly #source: string;
  #token: Token;
  #conditions = 0;

  constructor(source: string) {
    this.#source = source;
    this.#token = readToken(source, 0);
  }

  readStatement(): Statement {
    const statement = this.#readOperation();
    this.#takeSymbol(';');
    if (this.#token.kind !== 'end') throw this.#unexpected('the end of the statement', []);
    return statement;
  }

  readCondition(): Condition {
    const condition = this.#readWhere();
    if (this.#token.kind !== 'end') throw this.#unexpected('the end of the condition', ['AND', 'OR']);
    return condition;
  }

  #readOperation(): Statement {
    const source = this.#source;
    if (this.#takeKeyword('SELECT')) {
      this.#needDocuments('SELECT documents WHERE …');
      const where = this.#takeKeyword('WHERE') ? this.#readWhere() : null;
      return { kind: 'select', source, where, limit: this.#readLimit(where === null ? ['WHERE', 'LIMIT'] : null) };
    }
    if (this.#takeKeyword('UPDATE')) {
      this.#needDocuments('UPDATE documents SET … WHERE …');
      this.#need('SET');
      const assignments = this.#readAssignments();
      if (!this.#takeKeyword('WHERE')) throw this.#unexpected(', or WHERE', ['WHERE']);
      return { kind: 'update', source, assignments, where: this.#readWhere(), limit: this.#readLimit(null) };
    }
    for (const operation of ['SOFTDELETE', 'HARDDELETE'] as const) {
      if (!this.#takeKeyword(operation)) continue;
      this.#need('FROM');
      this.#needDocuments(`${operation} FROM documents WHERE …`);
      this.#need('WHERE');
      const kind = operation === 'SOFTDELETE' ? 'softdelete' : 'harddelete';
      return { kind, source, where: this.#readWhere(), limit: this.#readLimit(null) };
    }
    const isDelete = isWord(this.#token, 'DELETE');
    throw this.#unexpected('SELECT, UPDATE, SOFTDELETE or HARDDELETE', isDelete ? [] : STATEMENT_OPERATIONS, {
      help: isDelete
        ? 'DELETE is not supported: SOFTDELETE FROM documents takes documents out of search and keeps them, HARDDELETE FROM documents removes them for good'
        : undefined,
    });
  }

  #needDocuments(form: string): void {
    if (!this.#takeKeyword('DOCUMENTS')) throw this.#unexpected('documents', ['documents'], { help: `write ${form}` });
  }

  #readAssignments(): Assignment[] {
    const assignments: Assignment[] = [];
    do {
      const key = this.#readKey();
      const target = resolveAssignmentKey(this.#source, key);
      if (assignments.some((other) => other.target.kind === target.kind && other.target.name === target.name)) {
        throw statementFault(this.#source, { at: key.at, found: describe(key.name), expected: 'each key once in SET' });
      }
      if (!this.#takeSymbol('=')) throw this.#unexpected('=', []);
      const valueAt = this.#token.at;
      assignments.push({ target, value: this.#readValue(), valueAt });
    } while (this.#takeSymbol(','));
    return assignments;
  }

  #readWhere(): Condition {
    return this.#readOr(0);
  }

  #readOr(depth: number): Condition {
    const parts = [this.#readAnd(depth)];
    while (this.#takeKeyword('OR')) parts.push(this.#readAnd(depth));
    return parts.length === 1 ? (parts[0] as Condition) : { kind: 'or', parts };
  }

  #readAnd(depth: number): Condition {
    const parts = [this.#readNot(depth)];
    while (this.#takeKeyword('AND')) parts.push(this.#readNot(depth));
    return parts.length === 1 ? (parts[0] as Condition) : { kind: 'and', parts };
  }

  #readNot(depth: number): Condition {
    return this.#takeKeyword('NOT') ? { kind: 'not', part: this.#readPrimary(depth) } : this.#readPrimary(depth);
  }

  #readPrimary(depth: number): Condition {
    if (isSymbol(this.#token, '(')) {
      if (depth === STATEMENT_LIMITS.nesting) {
        throw this.#unexpected(`at most ${STATEMENT_LIMITS.nesting} parentheses inside each other`, []);
      }
      this.#advance();
      const condition = this.#readOr(depth + 1);
      if (!this.#takeSymbol(')')) throw this.#unexpected('AND, OR or )', ['AND', 'OR']);
      return condition;
    }
    const key = this.#readKey();
    this.#conditions++;
    if (this.#conditions > STATEMENT_LIMITS.conditions) {
      const expected = `at most ${STATEMENT_LIMITS.conditions} conditions`;
      throw statementFault(this.#source, { at: key.at, found: describe(key.name), expected });
    }
    return this.#readTest(resolveConditionKey(this.#source, key));
  }

  #readTest(subject: Subject): Condition {
    const operator = this.#takeComparison();
    if (operator !== null) return { kind: 'compare', subject, operator, value: this.#readValue() };
    if (this.#takeKeyword('IS')) {
      const negated = this.#takeKeyword('NOT');
      if (!this.#takeKeyword('NULL')) throw this.#unexpected(negated ? 'NULL' : 'NULL or NOT NULL', ['NULL', 'NOT']);
      return { kind: 'is null', subject, negated };
    }
    const negated = this.#takeKeyword('NOT');
    if (this.#takeKeyword('IN')) return { kind: 'in', subject, negated, values: this.#readValues() };
    if (this.#takeKeyword('LIKE')) return { kind: 'like', subject, negated, pattern: this.#readPattern() };
    if (negated) throw this.#unexpected('IN or LIKE', ['IN', 'LIKE']);
    throw this.#unexpected(`one of ${COMPARISONS.join(' ')} IN, LIKE, IS or NOT`, ['IN', 'LIKE', 'IS', 'NOT'], {
      help: isWord(this.#token, 'BETWEEN') ? 'BETWEEN is written key >= low AND key <= high' : undefined,
    });
  }

  #takeComparison(): ComparisonOperator | null {
    const token = this.#token;
    if (token.kind !== 'symbol' || !COMPARISONS.includes(token.symbol as ComparisonSymbol)) return null;
    this.#advance();
    return token.symbol === '<>' ? '!=' : (token.symbol as ComparisonOperator);
  }

  #readValues(): Value[] {
    if (!this.#takeSymbol('(')) throw this.#unexpected('( and a list of values', []);
    const values = [this.#readValue()];
    while (this.#takeSymbol(',')) values.push(this.#readValue());
    if (!this.#takeSymbol(')')) throw this.#unexpected(', or )', []);
    return values;
  }

  #readValue(): Value {
    const token = this.#token;
    const value = toValue(token);
    if (value !== null) {
      this.#advance();
      return value;
    }
    const help =
      token.kind === 'word' || token.kind === 'quoted key'
        ? `text is written in single quotes, '${showToken(this.#source, token).replaceAll('"', '')}'`
        : undefined;
    throw this.#unexpected("a value: 'text', a number, TRUE, FALSE or NULL", ['TRUE', 'FALSE', 'NULL'], { help });
  }

  #readPattern(): string {
    const token = this.#token;
    if (token.kind !== 'string')
      throw this.#unexpected("a 'pattern' in which % stands for any text and _ for one character", []);
    if (/(?<!\\)(?:\\\\)*\\$/.test(token.text)) {
      throw this.#unexpected('a pattern that does not end in an escape', [], { help: 'a \\ itself is written \\\\' });
    }
    this.#advance();
    return token.text;
  }

  #readKey(): WrittenKey {
    const token = this.#token;
    if (token.kind === 'word' || token.kind === 'quoted key') {
      this.#advance();
      return { name: token.text, quoted: token.kind === 'quoted key', at: token.at };
    }
    const written = showToken(this.#source, token);
    throw this.#unexpected('a key', [], {
      help: token.kind === 'keyword' ? `a key of that name is written in double quotes, "${written}"` : undefined,
    });
  }

  /** @param before keywords allowed here instead of LIMIT; null for those that continue a condition */
  #readLimit(before: readonly Keyword[] | null): number | null {
    if (!this.#takeKeyword('LIMIT')) {
      if (this.#token.kind === 'end' || isSymbol(this.#token, ';')) return null;
      const words = before ?? ['AND', 'OR', 'LIMIT'];
      throw this.#unexpected(`${words.join(', ')} or the end of the statement`, words);
    }
    const token = this.#token;
    const count =
      token.kind === 'number' && /^[0-9]+$/.test(this.#source.slice(token.at, token.end)) ? Number(token.text) : 0;
    if (count < 1 || count > STATEMENT_LIMITS.limit) {
      throw this.#unexpected(`a whole number from 1 to ${STATEMENT_LIMITS.limit}`, []);
    }
    this.#advance();
    return count;
  }

  #advance(): void {
    this.#token = readToken(this.#source, this.#token.end);
  }

  #takeKeyword(keyword: Keyword): boolean {
    if (this.#token.kind !== 'keyword' || this.#token.keyword !== keyword) return false;
    this.#advance();
    return true;
  }

  #takeSymbol(symbol: SymbolText): boolean {
    if (!isSymbol(this.#token, symbol)) return false;
    this.#advance();
    return true;
  }

  #need(keyword: Keyword): void {
    if (!this.#takeKeyword(keyword)) throw this.#unexpected(keyword, [keyword]);
  }

  #unexpected(expected: string, candidates: readonly string[], more: Pick<Fault, 'help'> = {}) {
    const token = this.#token;
    const meant =
      token.kind === 'word'
        ? findNearest(token.text, candidates)
        : token.kind === 'stray'
          ? lookalike(this.#source, token)
          : null;
    return statementFault(this.#source, {
      at: token.at,
      found: showToken(this.#source, token),
      expected,
      meant,
      ...more,
    });
  }
}

function isSymbol(token: Token, symbol: SymbolText): boolean {
  return token.kind === 'symbol' && token.symbol === symbol;
}

function isWord(token: Token, word: string): boolean {
  return token.kind === 'word' && token.text.toUpperCase() === word;
}

function toValue(token: Token): Value | null {
  if (token.kind === 'string' || token.kind === 'number') return { kind: token.kind, text: token.text };
  if (token.kind !== 'keyword') return null;
  if (token.keyword === 'NULL') return { kind: 'null' };
  if (token.keyword === 'TRUE') return { kind: 'boolean', text: 'true' };
  return token.keyword === 'FALSE' ? { kind: 'boolean', text: 'false' } : null;
}

/** Return the grammar character that a stray one resembles, as in pasted text. */
function lookalike(source: string, token: Token): string | null {
  const character = source.slice(token.at, token.end);
  if (/^[‘’‚‛′`´]$/u.test(character)) return "'";
  if (/^[“”„‟″]$/u.test(character)) return '"';
  const plain = character.normalize('NFKC');
  if (plain === ' ') return 'a plain space';
  return /^[\x21-\x7e]$/.test(plain) && plain !== character ? plain : null;
}
