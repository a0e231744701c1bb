import { describe, expect, it } from 'vitest';
import { parseStatement } from '../../../src/metadata/statement/parser.ts';
import { AppError } from '../../../src/platform/errors.ts';

/** Return the message with which a statement is refused. */
function refusal(source: string): string {
  try {
    parseStatement(source);
  } catch (error) {
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ status: 400, code: 'statement_invalid', param: 'statement' });
    return (error as AppError).message;
  }
  throw new Error(`was read: ${source}`);
}

const user = (name: string) => ({ kind: 'user', name });
const field = (name: string) => ({ kind: 'field', name });

describe('valid statements', () => {
  it('a SELECT without conditions is valid', () => {
    const statement = parseStatement('SELECT documents');
    expect(statement).toEqual({ kind: 'select', source: 'SELECT documents', where: null, limit: null });
  });

  it('keywords may be in any case, on several lines, with a semicolon', () => {
    const statement = parseStatement("uPdAtE Documents\r\n\tset team = 'a'\nWhere team IS not null\nlimit 7 ;\n");
    expect(statement).toMatchObject({
      kind: 'update',
      assignments: [{ target: user('team'), value: { kind: 'string', text: 'a' } }],
      where: { kind: 'is null', subject: user('team'), negated: true },
      limit: 7,
    });
  });

  it.each(['SOFTDELETE', 'HARDDELETE'])('%s is parsed with its condition', (word) => {
    expect(parseStatement(`${word} FROM documents WHERE id = 'doc_1'`)).toMatchObject({
      kind: word.toLowerCase(),
      where: { kind: 'compare', subject: field('id'), operator: '=', value: { kind: 'string', text: 'doc_1' } },
      limit: null,
    });
  });

  it('NOT binds tighter than AND, and AND tighter than OR', () => {
    expect(parseStatement('SELECT documents WHERE a = 1 OR NOT b = 1 AND c = 1')).toMatchObject({
      where: {
        kind: 'or',
        parts: [
          { subject: user('a') },
          { kind: 'and', parts: [{ kind: 'not', part: { subject: user('b') } }, { subject: user('c') }] },
        ],
      },
    });
  });

  it('a quoted key is a user key, also if a field or a keyword has the same name', () => {
    const { where } = parseStatement('SELECT documents WHERE "created_at" = 1 AND created_at = 1 AND "limit" = 1');
    expect(where).toMatchObject({
      parts: [{ subject: user('created_at') }, { subject: field('created_at') }, { subject: user('limit') }],
    });
  });

  it.each([
    ["'it''s'", { kind: 'string', text: "it's" }],
    ["''''", { kind: 'string', text: "'" }],
    ["''", { kind: 'string', text: '' }],
    ['9.50', { kind: 'number', text: '9.5' }],
    ['-0', { kind: 'number', text: '0' }],
    ['1e21', { kind: 'number', text: '1e+21' }],
    ['9007199254740991', { kind: 'number', text: '9007199254740991' }],
    ['true', { kind: 'boolean', text: 'true' }],
    ['NULL', { kind: 'null' }],
  ])('the value %s is parsed into the form in which metadata stores it', (written, value) => {
    expect(parseStatement(`SELECT documents WHERE a=${written}`)).toMatchObject({ where: { value } });
  });

  it('a statement may have a nesting of 20, 50 conditions, LIMIT 2000 and 4,000 characters', () => {
    expect(parseStatement(`SELECT documents WHERE ${'('.repeat(20)}a=1${')'.repeat(20)}`).kind).toBe('select');
    expect(parseStatement(`SELECT documents WHERE ${Array(50).fill('a=1').join(' OR ')} LIMIT 2000`).limit).toBe(2000);
    const long = 'SELECT documents WHERE a = 1';
    expect(parseStatement(long + ' '.repeat(4000 - long.length)).source).toHaveLength(4000);
    const emoji = `SELECT documents WHERE a = '${'👍'.repeat(3971)}'`;
    expect(Array.from(parseStatement(emoji).source)).toHaveLength(4000);
  });
});

describe('invalid statements', () => {
  it.each([
    ['', 'line 1, column 1: found the end of the statement, expected SELECT, UPDATE, SOFTDELETE or HARDDELETE'],
    ['SELECT', 'line 1, column 7: found the end of the statement, expected documents; write SELECT documents WHERE …'],
    ['SELECT * FROM documents', 'line 1, column 8: found *, expected documents; write SELECT documents WHERE …'],
    ['SELECT document WHERE a=1', 'column 8: found document, expected documents (did you mean documents?)'],
    ['SLEECT documents', 'found SLEECT, expected SELECT, UPDATE, SOFTDELETE or HARDDELETE (did you mean SELECT?)'],
    ['softdelte FROM documents WHERE a=1', '(did you mean SOFTDELETE?)'],
    ['SOFTDELETE documents WHERE a=1', 'line 1, column 12: found documents, expected FROM'],
    ['SOFTDELETE FROM documents', 'line 1, column 26: found the end of the statement, expected WHERE'],
    ['UPDATE documents SET a=1', 'line 1, column 25: found the end of the statement, expected , or WHERE'],
    ['UPDATE documents SET a=1 WHER b=1', '(did you mean WHERE?)'],
    ['UPDATE documents SET a>1 WHERE b=1', 'column 23: found >, expected ='],
    ['UPDATE documents SET a=1, a=2 WHERE b=1', 'column 27: found a, expected each key once in SET'],
    ['SELECT documents ORDER BY a', 'found ORDER, expected WHERE, LIMIT or the end of the statement'],
    ['SELECT documents WHERE a=1 ORDER BY a', 'found ORDER, expected AND, OR, LIMIT or the end of the statement'],
    ['SELECT documents WHERE (a=1', 'line 1, column 28: found the end of the statement, expected AND, OR or )'],
    ['SELECT documents WHERE a=1)', 'column 27: found ), expected AND, OR, LIMIT or the end of the statement'],
    ['SELECT documents WHERE NOT NOT a=1', 'column 28: found NOT, expected a key'],
    [
      'SELECT documents WHERE from = 1',
      'found from, expected a key; a key of that name is written in double quotes, "from"',
    ],
    ['SELECT documents WHERE a ILIKE 1', 'expected one of = != <> < <= > >= IN, LIKE, IS or NOT (did you mean LIKE?)'],
    ['SELECT documents WHERE a BETWEEN 1 AND 2', 'BETWEEN is written key >= low AND key <= high'],
    ['SELECT documents WHERE a NOT 1', 'column 30: found 1, expected IN or LIKE'],
    ['SELECT documents WHERE a IN ()', 'column 30: found ), expected a value'],
    ['SELECT documents WHERE a IN (1,)', 'column 32: found ), expected a value'],
    ['SELECT documents WHERE a IN 1', 'found 1, expected ( and a list of values'],
    ['SELECT documents WHERE a LIKE 1', "found 1, expected a 'pattern'"],
    ["SELECT documents WHERE a LIKE 'x\\'", 'expected a pattern that does not end in an escape'],
    ['SELECT documents WHERE a IS 1', 'found 1, expected NULL or NOT NULL'],
    ['SELECT documents WHERE a == 1', 'column 27: found =, expected a value'],
    [
      'SELECT documents WHERE a = ready',
      "found ready, expected a value: 'text', a number, TRUE, FALSE or NULL; text is written in single quotes, 'ready'",
    ],
    ['SELECT documents WHERE a = "b"', "text is written in single quotes, 'b'"],
    [
      'SELECT documents WHERE a = ‘b’',
      "found ‘ (U+2018), expected a value: 'text', a number, TRUE, FALSE or NULL (did you mean '?)",
    ],
    ['SELECT documents WHERE a ＝ 1', 'found ＝ (U+FF1D)'],
    [
      'SELECT documents\u00a0WHERE a=1',
      'found U+00A0, expected WHERE, LIMIT or the end of the statement (did you mean a plain space?)',
    ],
    ['SELECT documents WHERE a=1 -- all', 'column 28: found -, expected'],
    ['SELECT documents WHERE a=1 /* all */', 'column 28: found /, expected'],
    ['SELECT documents; SELECT documents', 'column 19: found SELECT, expected the end of the statement'],
    ['SELECT documents LIMIT 0', 'found 0, expected a whole number from 1 to 2000'],
    ['SELECT documents LIMIT 2001', 'found 2001, expected a whole number from 1 to 2000'],
    ['SELECT documents LIMIT 1.0', 'found 1.0, expected a whole number'],
    ['SELECT documents LIMIT 1e3', 'found 1e3, expected a whole number'],
    ['SELECT documents WHERE a=012', 'found 012, expected a number without leading zeros'],
    ['SELECT documents WHERE a=1x', 'found 1x, expected a number such as'],
    ['SELECT documents WHERE a=1.', 'found 1., expected a number such as'],
    ['SELECT documents WHERE a=1e999', 'found 1e999, expected a number of at most 15 digits'],
    ['SELECT documents WHERE a=12345678901234567890', "or 'text' to keep every digit"],
    ["SELECT documents\nWHERE a = 'x\ny'", 'line 2, column 13: found U+000A, expected text without control characters'],
    ["SELECT documents WHERE a = '\u0000'", 'found U+0000, expected text without control characters'],
    [
      "SELECT documents WHERE a = '\ud800'",
      'found U+D800, expected text without control characters and without halves',
    ],
    ["SELECT documents\r\nWHERE\r\n😀 a = 'x", 'line 3, column 1: found 😀 (U+1F600), expected a key'],
    ["SELECT documents WHERE x = '😀' AND y = 'x", "line 1, column 40: found a ' that is never closed"],
    ['SELECT documents WHERE "a = 1', 'found a " that is never closed'],
    ['SELECT documents WHERE a = 1\u0007', 'found U+0007'],
  ])('the statement %j is refused with position and advice', (source, message) => {
    expect(refusal(source)).toContain(message);
  });

  it('DELETE is refused with a hint at SOFTDELETE and HARDDELETE', () => {
    expect(refusal('DELETE FROM documents WHERE a=1')).toBe(
      'line 1, column 1: found DELETE, expected SELECT, UPDATE, SOFTDELETE or HARDDELETE; DELETE is not supported: ' +
        'SOFTDELETE FROM documents takes documents out of search and keeps them, HARDDELETE FROM documents removes them for good',
    );
  });

  it('a statement of 4,001 characters, 21 levels or 51 conditions is refused', () => {
    expect(refusal(`SELECT documents${' '.repeat(3985)}`)).toBe('the statement has more than 4000 characters');
    expect(refusal(`SELECT documents WHERE ${'('.repeat(21)}a=1${')'.repeat(21)}`)).toBe(
      'line 1, column 44: found (, expected at most 20 parentheses inside each other',
    );
    expect(refusal(`SELECT documents WHERE ${Array(51).fill('a=1').join(' OR ')}`)).toContain('at most 50 conditions');
  });
});

describe('invalid keys', () => {
  it.each([
    'chunk_id',
    'deleted',
    'schift.x',
    '__proto__',
    'embed_model',
    '"file_name"',
    '"scope"',
    '"a b"',
    '""',
    '"a\'b"',
  ])('the key %s is refused in a condition', (key) => {
    expect(refusal(`SELECT documents WHERE ${key} = 'x'`)).toContain('column 24: found');
  });

  it.each([
    ...['id', 'file_name', 'status', 'deleted', 'disabled', 'created_at', 'internal_accessible', 'owner_department'],
    ...[
      'uploaded_by_user_id',
      'chunk_id',
      'event_time',
      'schift.source_table',
      '"classification"',
      '"privacy_level"',
      'documents',
    ],
  ])('the key %s is refused in SET', (key) => {
    expect(refusal(`UPDATE documents SET ${key} = 'x' WHERE a = 1`)).toContain('column 22: found');
  });

  it('only a similar field is suggested for a refused key', () => {
    expect(refusal('SELECT documents WHERE document_id = 1')).not.toContain('did you mean');
    expect(refusal('SELECT documents WHERE s3_chunk = 1 ')).not.toContain('did you mean');
    expect(refusal('UPDATE documents SET disabled = TRUE WHERE a = 1')).toContain('key is reserved by the service');
    expect(refusal('SELECT documents WHERE "file_name" = 1')).toContain('written without quotes');
  });
});

describe('fields that can be set', () => {
  it.each(['privacy_level', 'classification', 'review_status', 'scope', 'public_accessible', 'searchable'])(
    'the field %s can be set',
    (name) => {
      expect(parseStatement(`UPDATE documents SET ${name} = 'x' WHERE a = 1`)).toMatchObject({
        assignments: [{ target: field(name) }],
      });
    },
  );
});
