import { REVIEW_STATUSES } from '../../documents/access-policy.ts';
import { CLASSIFICATIONS } from '../../documents/schema.ts';
import type { AppError } from '../../platform/errors.ts';
import { findNearest } from '../../platform/nearest-word.ts';
import { DocumentEdit } from '../schema.ts';
import { describe, statementFault } from './errors.ts';
import { FIELDS, type FieldName } from './fields.ts';
import type { Assignment, Statement, Value } from './syntax.ts';

type Update = Extract<Statement, { kind: 'update' }>;

/** Allowed values of fields with a fixed vocabulary. */
const WORDS: Partial<Record<FieldName, readonly string[]>> = {
  classification: CLASSIFICATIONS,
  review_status: REVIEW_STATUSES,
  public_accessible: ['true', 'false'],
  searchable: ['true', 'false'],
};

/**
 * Convert an UPDATE to an edit, under the rules of all edits.
 *
 * @throws AppError `statement_invalid` (400) at the assignment that breaks a rule
 */
export function readEdit(statement: Update): DocumentEdit {
  const metadata: Record<string, unknown> = {};
  const edit: Record<string, unknown> = {};
  const access: { users?: string[] | null; groups?: string[] | null } = {};
  for (const { target, value } of statement.assignments) {
    if (target.kind === 'user') metadata[target.name] = textOf(value);
    // `scope` is the only field that is written through metadata.
    else if (target.name === 'scope') metadata['scope'] = textOf(value);
    else if (target.name === 'access_users') access.users = namesOf(value);
    else if (target.name === 'access_groups') access.groups = namesOf(value);
    else edit[target.name] = fieldValue(FIELDS[target.name], value);
  }
  if (Object.keys(access).length > 0) edit['access'] = access;
  const parsed = DocumentEdit.safeParse(Object.keys(metadata).length > 0 ? { ...edit, metadata } : edit);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0] as { path: PropertyKey[]; message: string };
  const name = nameAt(issue.path);
  const assignment = statement.assignments.find(({ target }) => target.name === name);
  throw faultOf(statement, assignment, issue.message);
}

/** Return the key of the assignment that a path in an edit belongs to. */
function nameAt([field, part]: PropertyKey[]): PropertyKey | undefined {
  if (field === 'access') return `access_${String(part)}`;
  return field === 'metadata' ? part : field;
}

/** Parse comma-separated names. */
function namesOf(value: Value): string[] | null {
  if (value.kind === 'null') return null;
  return value.text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function textOf(value: Value): string | null {
  return value.kind === 'null' ? null : value.text;
}

/** Convert a value to the type of its field. Flags and levels may also be text. */
function fieldValue(form: (typeof FIELDS)[keyof typeof FIELDS], value: Value): unknown {
  if (value.kind === 'null') return null;
  if (form === 'boolean' && (value.text === 'true' || value.text === 'false')) return value.text === 'true';
  if (form === 'integer' && /^[0-9]{1,9}$/.test(value.text)) return Number(value.text);
  return value.text;
}

/** @param assignment assignment at fault; undefined if the fault concerns all user keys together */
function faultOf({ source, assignments }: Update, assignment: Assignment | undefined, message: string): AppError {
  const { target, value, valueAt: at } = assignment ?? (assignments[0] as Assignment);
  if (assignment === undefined) {
    const found = describe(assignments.map((each) => each.target.name).join(', '));
    return statementFault(source, { at, found, expected: 'metadata within its limits', help: `metadata ${message}` });
  }
  const found = value.kind === 'null' ? 'NULL' : describe(value.text);
  if (target.name === 'privacy_level') {
    return statementFault(source, { at, found, expected: 'a whole number from 1 to 10' });
  }
  const words = target.kind === 'field' ? WORDS[target.name] : undefined;
  if (words === undefined) {
    return statementFault(source, { at, found, expected: `a value that ${target.name} can have`, help: message });
  }
  const expected = words.map((word) => `'${word}'`).join(' or ');
  const meant = value.kind === 'string' ? findNearest(value.text, words) : null;
  return statementFault(source, { at, found, expected, meant: meant && `'${meant}'` });
}
