import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROLES, type Scope } from '../../src/access/caller.ts';
import { hindranceOf, type Reader, visibleTo } from '../../src/documents/visibility.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ isEmpty: true });
});
afterAll(() => database.drop());

const NOBODY = { userId: null, groups: [] };
const READERS: Reader[] = [null, ...ROLES].flatMap((role) =>
  [null, 'sales'].flatMap((department) =>
    ([undefined, 'unrestricted', 'public'] as const).flatMap((outside) =>
      [1, 5].flatMap((authLevel) =>
        [NOBODY, { userId: 'usr_1', groups: [] }, { userId: null, groups: ['board', 'legal'] }].map((member) => {
          const reader = { role, department, authLevel, scopes: new Set<Scope>(['search']), ...member };
          return outside === undefined ? reader : { ...reader, outside };
        }),
      ),
    ),
  ),
);

const DOCUMENTS = [1, 3, 9].flatMap((privacy_level) =>
  [null, 'common', 'sales', 'legal'].flatMap((scope) =>
    ['internal', 'public', 'restricted', 'confidential'].flatMap((classification) =>
      [true, false].flatMap((public_accessible) =>
        [null, ['user:usr_1'], ['group:legal', 'user:usr_2'], ['group:sales']].map((access_list) => {
          return { privacy_level, scope, classification, public_accessible, access_list };
        }),
      ),
    ),
  ),
);

/** Document that every caller may read. */
const OPEN = { privacy_level: 1, scope: null, classification: 'internal', public_accessible: true, access_list: null };

test('the condition of SQL and the check of one document agree for every caller and every document', async () => {
  const { sql } = database;
  const rows = DOCUMENTS.map((document, id) => ({ id, status: 'ready', ...document }));
  await sql`
    CREATE TABLE documents AS SELECT * FROM jsonb_to_recordset(${sql.json(rows)}) AS d
      (id int, status text, privacy_level int, scope text, classification text, public_accessible boolean,
       access_list text[])`;
  for (const reader of READERS) {
    const found = await sql`SELECT id FROM documents WHERE ${visibleTo(sql, reader)} ORDER BY id`;
    const expected = rows.filter((document) => hindranceOf(reader, document) === null).map(({ id }) => ({ id }));
    expect(found).toEqual(expected);
  }
});

test('a caller outside the organization finds nothing restricted or confidential, or only what is public', () => {
  const ordinary: Reader = { role: null, department: null, authLevel: 1, scopes: new Set(), userId: null };
  const outside: Reader = { ...ordinary, outside: 'unrestricted' };
  const plain = { ...OPEN, public_accessible: false };
  expect(hindranceOf(outside, plain)).toBe(null);
  for (const classification of ['restricted', 'confidential']) {
    expect(hindranceOf(outside, { ...plain, classification, public_accessible: true })).toBe('classification');
    expect(hindranceOf(ordinary, { ...plain, classification })).toBe(null);
  }
  const publicOnly: Reader = { ...ordinary, outside: 'public' };
  expect(hindranceOf(publicOnly, plain)).toBe('not_public');
  expect(hindranceOf(publicOnly, { ...plain, public_accessible: true })).toBe(null);
  expect(hindranceOf(publicOnly, { ...plain, classification: 'restricted', public_accessible: true })).toBe(
    'classification',
  );
});

test.each([
  [['embed'], false],
  [['channels:send', 'channels:manage', 'routing:manage'], false],
  [['keys:manage', 'users:manage', 'embed'], false],
  [['search'], true],
  [['embed', 'documents:write'], true],
  [['workflows:run'], true],
  [['platform_admin'], true],
] as const)('a key with the scopes %j reads documents: %s', (scopes, reads) => {
  const reader: Reader = { role: null, department: null, authLevel: 10, scopes: new Set<Scope>(scopes), userId: null };
  expect(hindranceOf(reader, OPEN)).toBe(reads ? null : 'level');
});

test('an access list lets its users and the members of its groups read, and administrators', () => {
  const list = ['group:legal', 'user:usr_1'];
  const document = { ...OPEN, access_list: list };
  const member: Reader = {
    role: 'member',
    department: null,
    authLevel: 5,
    scopes: new Set(['search']),
    userId: 'usr_9',
  };
  expect(hindranceOf(member, document)).toBe('not_listed');
  expect(hindranceOf({ ...member, userId: 'usr_1' }, document)).toBe(null);
  expect(hindranceOf({ ...member, groups: ['legal'] }, document)).toBe(null);
  expect(hindranceOf({ ...member, groups: ['Legal', 'user:usr_1'] }, document)).toBe('not_listed');
  expect(hindranceOf({ ...member, role: 'admin' }, document)).toBe(null);
  expect(hindranceOf({ ...member, groups: ['legal'] }, { ...document, privacy_level: 6 })).toBe('level');
});
