import { describe, expect, it } from 'vitest';
import { adviseOn } from '../../../src/metadata/statement/advice.ts';
import { parseStatement } from '../../../src/metadata/statement/parser.ts';
import { readEdit } from '../../../src/metadata/statement/read-edit.ts';

function editOf(assignments: string) {
  const statement = parseStatement(`UPDATE documents SET ${assignments} WHERE id = 'doc_1'`);
  if (statement.kind !== 'update') throw new Error('no UPDATE');
  return readEdit(statement);
}

describe('what an UPDATE asks for', () => {
  it('an UPDATE sets user metadata in its stored form, with null for a removed key', () => {
    expect(editOf(`a = 'x', b = 9.50, c = TRUE, "limit" = NULL`)).toEqual({
      metadata: { a: 'x', b: '9.5', c: 'true', limit: null },
    });
  });

  it('an UPDATE sets policy and state as typed values, also if they are written as text', () => {
    const typed = { privacy_level: 5, public_accessible: true, searchable: false };
    expect(editOf('privacy_level = 5, public_accessible = TRUE, searchable = FALSE')).toEqual(typed);
    expect(editOf(`privacy_level = '5', public_accessible = 'true', searchable = 'false'`)).toEqual(typed);
  });

  it('an UPDATE sets scope through metadata, as the only policy key', () => {
    expect(editOf(`scope = 'sales', a = 1`)).toEqual({ metadata: { scope: 'sales', a: '1' } });
    expect(editOf('scope = NULL')).toEqual({ metadata: { scope: null } });
  });

  it.each([
    ['privacy_level = 11', 'line 1, column 38: found 11, expected a whole number from 1 to 10'],
    ['privacy_level = 1.5', 'found 1.5, expected a whole number from 1 to 10'],
    ['privacy_level = NULL', 'found NULL, expected a whole number from 1 to 10'],
    [`classification = 'internl'`, `found internl, expected 'internal' or 'public'`],
    [`classification = 'internl'`, `(did you mean 'internal'?)`],
    [`review_status = NULL`, `found NULL, expected 'pending' or 'approved' or 'rejected'`],
    [`searchable = 'no'`, `found no, expected 'true' or 'false'`],
    ['searchable = 1', `found 1, expected 'true' or 'false'`],
    [`a = 1, b = '${'x'.repeat(513)}'`, 'column 33: found xxxxxxxxxx'],
    [`a = '${'x'.repeat(513)}'`, 'value is longer than 512 characters'],
    [Array.from({ length: 33 }, (_, at) => `k${at} = 1`).join(), 'metadata must have at most 32 keys'],
  ])('an invalid UPDATE is refused at its value: %s', (assignments, message) => {
    expect(() => editOf(assignments)).toThrow(message);
  });
});

describe('advice', () => {
  it('a comparison with NULL gets advice', () => {
    expect(adviseOn(parseStatement('SELECT documents WHERE a = NULL OR NOT (b IN (1, NULL))'))).toEqual([
      'a comparison of a with NULL is never true; write a IS NULL',
      'a comparison of b with NULL is never true; write b IS NULL',
    ]);
  });

  it('a key that resembles a field gets advice', () => {
    const statement = parseStatement(`UPDATE documents SET clasification = 'public' WHERE filename = 'a.txt'`);
    expect(adviseOn(statement)).toEqual([
      '"clasification" is read as a key of user metadata; did you mean the field classification?',
      '"filename" is read as a key of user metadata; did you mean the field file_name?',
    ]);
  });

  it('a plain statement gets no advice', () => {
    expect(
      adviseOn(parseStatement(`SELECT documents WHERE team = 'a' AND "created_at" IS NULL AND status = 1`)),
    ).toEqual([]);
    expect(adviseOn(parseStatement('SELECT documents'))).toEqual([]);
  });
});
