import { FIELDS } from './fields.ts';
import type { Condition, Subject, Value } from './syntax.ts';

/** Number of trailing characters of a bucket id in document terms, as in `document_terms` (migration 0007). */
const BUCKET_CHARACTERS = 4;
/** Number of leading characters of a value in document terms. */
const VALUE_CHARACTERS = 80;

/**
 * Derive a tsquery for the index of document terms from a condition. It matches every document of the bucket that
 * satisfies the condition, and possibly others. Return null if every document must be read.
 *
 * Equality, lists and prefixes narrow. AND narrows if one side does, and OR if every side does.
 */
export function narrow(bucketId: string, condition: Condition): string | null {
  return new Narrowing(bucketId).whenTrue(condition);
}

class Narrowing {
  readonly #bucket: string;

  constructor(bucketId: string) {
    this.#bucket = bucketId.slice(-BUCKET_CHARACTERS);
  }

  whenTrue(condition: Condition): string | null {
    switch (condition.kind) {
      case 'and':
        return every(condition.parts.map((part) => this.whenTrue(part)));
      case 'or':
        return some(condition.parts.map((part) => this.whenTrue(part)));
      case 'not':
        return this.#whenFalse(condition.part);
      case 'compare':
        return condition.operator === '=' ? this.#oneOf(condition.subject, [condition.value]) : null;
      case 'in':
        return condition.negated ? null : this.#oneOf(condition.subject, condition.values);
      case 'like':
        return condition.negated ? null : this.#like(condition.subject, condition.pattern);
      case 'is null':
        return null;
    }
  }

  /** Narrow by a negated condition. De Morgan's laws also hold in three-valued logic. */
  #whenFalse(condition: Condition): string | null {
    switch (condition.kind) {
      case 'and':
        return some(condition.parts.map((part) => this.#whenFalse(part)));
      case 'or':
        return every(condition.parts.map((part) => this.#whenFalse(part)));
      case 'not':
        return this.whenTrue(condition.part);
      case 'compare':
        return condition.operator === '!=' ? this.#oneOf(condition.subject, [condition.value]) : null;
      case 'in':
      case 'like':
        return condition.negated ? this.whenTrue({ ...condition, negated: false }) : null;
      case 'is null':
        return null;
    }
  }

  #oneOf(subject: Subject, values: readonly Value[]): string | null {
    const texts = values.flatMap((value) => (value.kind === 'null' ? [] : [value.text]));
    if (texts.length === 0 || !hasTerms(subject)) return null;
    return some([...new Set(texts)].map((text) => this.#term(subject, text)));
  }

  #like(subject: Subject, pattern: string): string | null {
    const { text, isWhole } = literalStart(pattern);
    if (!hasTerms(subject) || (text === '' && !isWhole)) return null;
    return this.#term(subject, text) + (isWhole ? '' : ':*');
  }

  /** Build a quoted lexeme. Only quotes and backslashes are special in it, and both are doubled. */
  #term(subject: Subject, text: string): string {
    const value = Array.from(text).slice(0, VALUE_CHARACTERS).join('');
    const term = `${this.#bucket}${subject.kind === 'field' ? '.' : '"'}${subject.name}=${value}`;
    return `'${term.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
  }
}

function hasTerms(subject: Subject): boolean {
  return subject.kind === 'user' || !['time', 'path', 'list'].includes(FIELDS[subject.name]);
}

function every(parts: readonly (string | null)[]): string | null {
  const known = parts.filter((part) => part !== null);
  return known.length === 0 ? null : `(${known.join('&')})`;
}

function some(parts: readonly (string | null)[]): string | null {
  return parts.every((part) => part !== null) ? `(${parts.join('|')})` : null;
}

/** Return the literal prefix of a pattern. `isWhole` is true if it is the entire pattern. */
function literalStart(pattern: string): { text: string; isWhole: boolean } {
  let text = '';
  for (let at = 0; at < pattern.length; at++) {
    if (pattern[at] === '%' || pattern[at] === '_') return { text, isWhole: false };
    if (pattern[at] === '\\') at++;
    text += pattern[at];
  }
  return { text, isWhole: true };
}
