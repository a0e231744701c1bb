import { userKeyFault } from '../../documents/user-metadata.ts';
import { findNearest } from '../../platform/nearest-word.ts';
import { describe, statementFault } from './errors.ts';
import { FIELD_NAMES, isField } from './fields.ts';
import type { Subject } from './syntax.ts';

/** Fields that an UPDATE can set. */
const SETTABLE_NAMES = [
  ...['privacy_level', 'classification', 'review_status', 'scope', 'public_accessible', 'searchable'],
  ...['access_users', 'access_groups'],
] as readonly string[];

export interface WrittenKey {
  readonly name: string;
  readonly quoted: boolean;
  readonly at: number;
}

/** @throws AppError `statement_invalid` for a name that is neither a field nor a valid user key */
export function resolveConditionKey(source: string, key: WrittenKey): Subject {
  if (!key.quoted && isField(key.name)) return { kind: 'field', name: key.name };
  return userKey(source, key, 'a user key or a field of documents', FIELD_NAMES);
}

/** @throws AppError `statement_invalid` for a key that UPDATE can't set */
export function resolveAssignmentKey(source: string, key: WrittenKey): Subject {
  const expected = 'a user key or a field that can be set';
  if (key.quoted || !isField(key.name)) return userKey(source, key, expected, SETTABLE_NAMES);
  if (SETTABLE_NAMES.includes(key.name)) return { kind: 'field', name: key.name };
  throw statementFault(source, {
    at: key.at,
    found: key.name,
    expected,
    help: `${key.name} is written by the service; UPDATE can set ${SETTABLE_NAMES.join(', ')} and user keys`,
  });
}

function userKey(source: string, key: WrittenKey, expected: string, candidates: readonly string[]): Subject {
  const fault = userKeyFault(key.name);
  // Metadata under the key `scope` is stored in the field of that name.
  const isOnlyField = isField(key.name) && (fault !== null || key.name === 'scope');
  if (fault === null && !isOnlyField) return { kind: 'user', name: key.name };
  const found = describe(key.quoted ? `"${key.name}"` : key.name);
  const help = isOnlyField ? `${key.name} is a field of documents, written without quotes` : (fault ?? undefined);
  const meant = findNearest(key.name, candidates);
  throw statementFault(source, { at: key.at, found, expected, meant: meant === key.name ? null : meant, help });
}
