import { findNearest } from '../../platform/nearest-word.ts';
import { FIELD_NAMES } from './fields.ts';
import type { Condition, Statement, Subject } from './syntax.ts';

/** Find valid but probably unintended parts of a statement: comparisons with NULL, and misspelled fields. */
export function adviseOn(statement: Statement): string[] {
  const advice = new Set<string>();
  const check = (subject: Subject) => {
    const meant = subject.kind === 'user' ? findNearest(subject.name, FIELD_NAMES) : null;
    if (meant !== null && meant !== subject.name) {
      advice.add(`"${subject.name}" is read as a key of user metadata; did you mean the field ${meant}?`);
    }
  };
  if (statement.kind === 'update') for (const { target } of statement.assignments) check(target);
  for (const leaf of statement.where === null ? [] : leavesOf(statement.where)) {
    check(leaf.subject);
    const values = leaf.kind === 'compare' ? [leaf.value] : leaf.kind === 'in' ? leaf.values : [];
    if (values.some((value) => value.kind === 'null')) {
      advice.add(`a comparison of ${leaf.subject.name} with NULL is never true; write ${leaf.subject.name} IS NULL`);
    }
  }
  return [...advice];
}

type Leaf = Exclude<Condition, { kind: 'and' | 'or' | 'not' }>;

function leavesOf(condition: Condition): Leaf[] {
  switch (condition.kind) {
    case 'not':
      return leavesOf(condition.part);
    case 'and':
    case 'or':
      return condition.parts.flatMap(leavesOf);
    default:
      return [condition];
  }
}
