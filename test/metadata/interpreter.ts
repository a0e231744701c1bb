/**
 * Reference interpreter of the statement language, over documents in memory. It shares no code with the implementation:
 * its own tree is printed to text for the implementation and evaluated by the interpreter.
 */

export type Literal =
  | { readonly kind: 'string'; readonly text: string }
  | { readonly kind: 'number'; readonly written: string }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'null' };

export interface Key {
  readonly name: string;
  readonly quoted: boolean;
}

export type Tree =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Tree[] }
  | { readonly kind: 'not'; readonly part: Tree }
  | { readonly kind: 'compare'; readonly key: Key; readonly sign: string; readonly value: Literal }
  | { readonly kind: 'in'; readonly key: Key; readonly negated: boolean; readonly values: readonly Literal[] }
  | { readonly kind: 'like'; readonly key: Key; readonly negated: boolean; readonly pattern: string }
  | { readonly kind: 'null'; readonly key: Key; readonly negated: boolean };

/** A document as the API shows it: fields, and metadata of texts. */
export interface PlainDocument {
  readonly id: string;
  readonly fields: Readonly<Record<string, string | number | boolean | null>>;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Evaluate a condition to true, false, or null for unknown, as in SQL. */
export function evaluate(tree: Tree, document: PlainDocument): boolean | null {
  switch (tree.kind) {
    case 'and':
    case 'or': {
      const results = tree.parts.map((part) => evaluate(part, document));
      const decisive = tree.kind === 'or';
      if (results.includes(decisive)) return decisive;
      return results.includes(null) ? null : !decisive;
    }
    case 'not':
      return negate(evaluate(tree.part, document));
    case 'null':
      return (lookUp(tree.key, document) === null) !== tree.negated;
    case 'like': {
      const text = lookUp(tree.key, document);
      return text === null ? null : isLike(text, tree.pattern) !== tree.negated;
    }
    case 'in': {
      const results = tree.values.map((value) => compare(tree.key, '=', value, document));
      const found = results.includes(true) ? true : results.includes(null) ? null : false;
      return tree.negated ? negate(found) : found;
    }
    case 'compare':
      return compare(tree.key, tree.sign, tree.value, document);
  }
}

function negate(result: boolean | null): boolean | null {
  return result === null ? null : !result;
}

function lookUp(key: Key, document: PlainDocument): string | null {
  if (!key.quoted && Object.hasOwn(document.fields, key.name)) {
    const value = document.fields[key.name] ?? null;
    return value === null ? null : String(value);
  }
  return Object.hasOwn(document.metadata, key.name) ? (document.metadata[key.name] as string) : null;
}

function compare(key: Key, sign: string, value: Literal, document: PlainDocument): boolean | null {
  const left = lookUp(key, document);
  if (left === null || value.kind === 'null') return null;
  const right = storedForm(value);
  if (sign === '=') return left === right;
  if (sign === '!=' || sign === '<>') return left !== right;
  const isLevel = key.name === 'privacy_level' && !key.quoted && /^[0-9]{1,9}$/.test(right);
  const numbers = value.kind === 'number' || isLevel ? [toDecimal(left), toDecimal(right)] : [];
  const order = numbers[0] && numbers[1] ? compareDecimals(numbers[0], numbers[1]) : compareCodePoints(left, right);
  if (sign === '<') return order < 0;
  if (sign === '<=') return order <= 0;
  return sign === '>' ? order > 0 : order >= 0;
}

/** Return the text under which a literal is stored as metadata; texts are in NFC. */
export function storedForm(value: Exclude<Literal, { kind: 'null' }>): string {
  if (value.kind === 'string') return value.text.normalize('NFC');
  return value.kind === 'number' ? String(Number(value.written)) : String(value.value);
}

function compareCodePoints(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)];
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const difference = (left[at]?.codePointAt(0) as number) - (right[at]?.codePointAt(0) as number);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** Decimal number: digits x 10^exponent. */
interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

function toDecimal(text: string): Decimal | null {
  const parts = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([-+]?[0-9]{1,3}))?$/.exec(text);
  if (!parts) return null;
  const [, sign, whole, fraction = '', exponent = '0'] = parts;
  return { digits: BigInt(`${sign}${whole}${fraction}`), exponent: Number(exponent) - fraction.length };
}

function compareDecimals(a: Decimal, b: Decimal): number {
  const low = Math.min(a.exponent, b.exponent);
  const difference = a.digits * 10n ** BigInt(a.exponent - low) - b.digits * 10n ** BigInt(b.exponent - low);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

function isLike(text: string, pattern: string): boolean {
  const wanted: (string | { any: 'one' | 'many' })[] = [];
  const characters = Array.from(pattern);
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] as string;
    if (character === '%') wanted.push({ any: 'many' });
    else if (character === '_') wanted.push({ any: 'one' });
    else wanted.push(character === '\\' ? (characters[++at] as string) : character);
  }
  let positions = new Set([0]);
  for (const part of wanted) {
    const next = new Set<number>();
    const given = Array.from(text);
    for (const place of positions) {
      if (typeof part === 'object' && part.any === 'many') for (let to = place; to <= given.length; to++) next.add(to);
      else if (place < given.length && (typeof part === 'object' || given[place] === part)) next.add(place + 1);
    }
    positions = next;
  }
  return positions.has(Array.from(text).length);
}

/** Random number from 0 to `below` - 1. */
export type Draw = (below: number) => number;

/** Print a tree as the text of a statement, with random white space, case of keywords and parentheses. */
export function print(tree: Tree, draw: Draw): string {
  switch (tree.kind) {
    case 'and':
    case 'or': {
      const word = keyword(tree.kind.toUpperCase(), draw);
      const parts = tree.parts.map((part) => (binds(part, tree.kind) ? print(part, draw) : `(${print(part, draw)})`));
      return parts.join(`${space(draw)}${word}${space(draw)}`);
    }
    case 'not': {
      const inner = print(tree.part, draw);
      const isPrimary = tree.part.kind !== 'and' && tree.part.kind !== 'or' && tree.part.kind !== 'not';
      return keyword('NOT', draw) + (isPrimary && draw(2) ? space(draw) + inner : `${gap(draw)}(${inner})`);
    }
    case 'compare':
      return `${printKey(tree.key)}${gap(draw)}${tree.sign}${gap(draw)}${printLiteral(tree.value, draw)}`;
    case 'in': {
      const values = tree.values.map((value) => printLiteral(value, draw)).join(`${gap(draw)},${gap(draw)}`);
      return `${printKey(tree.key)}${maybeNot(tree.negated, draw)}${keyword('IN', draw)}${gap(draw)}(${values})`;
    }
    case 'like':
      return `${printKey(tree.key)}${maybeNot(tree.negated, draw)}${keyword('LIKE', draw)}${gap(draw)}${quote(tree.pattern)}`;
    case 'null': {
      const not = tree.negated ? `${keyword('NOT', draw)}${space(draw)}` : '';
      return `${printKey(tree.key)}${space(draw)}${keyword('IS', draw)}${space(draw)}${not}${keyword('NULL', draw)}`;
    }
  }
}

/** Return true if a part needs no parentheses beside AND or OR. */
function binds(part: Tree, parent: 'and' | 'or'): boolean {
  return part.kind === 'and' ? parent === 'or' : part.kind !== 'or';
}

function maybeNot(negated: boolean, draw: Draw): string {
  return negated ? `${space(draw)}${keyword('NOT', draw)}${space(draw)}` : space(draw);
}

export function printKey(key: Key): string {
  return key.quoted ? `"${key.name.replaceAll('"', '""')}"` : key.name;
}

export function printLiteral(value: Literal, draw: Draw): string {
  if (value.kind === 'string') return quote(value.text);
  if (value.kind === 'number') return value.written;
  return keyword(value.kind === 'null' ? 'NULL' : String(value.value).toUpperCase(), draw);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

export function keyword(word: string, draw: Draw): string {
  const style = draw(3);
  if (style === 0) return word;
  if (style === 1) return word.toLowerCase();
  return Array.from(word, (letter) => (draw(2) ? letter.toLowerCase() : letter)).join('');
}

export function space(draw: Draw): string {
  return [' ', ' ', '\n', '\t', '  ', '\r\n'][draw(6)] as string;
}

function gap(draw: Draw): string {
  return draw(2) ? '' : space(draw);
}
