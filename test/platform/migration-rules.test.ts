import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { MIGRATIONS } from '../../src/appliance/stores.ts';
import { findUnsafeStatements } from './migration-rules.ts';

test('no migration breaks processes of the release before, which run beside the new ones during an upgrade', () => {
  const created = new Set<string>();
  const unsafe: string[] = [];
  for (const file of readdirSync(MIGRATIONS).sort()) {
    const text = readFileSync(path.join(MIGRATIONS, file), 'utf8');
    for (const { rule, statement } of findUnsafeStatements(text, created))
      unsafe.push(`${file}: ${rule}: ${statement}`);
    for (const [, table] of text.matchAll(/CREATE (?:UNLOGGED )?TABLE (\w+)/g)) created.add(table as string);
  }
  expect(unsafe, 'see "Migrations" in CONTRIBUTING.md').toEqual([]);
});

const existing = new Set(['jobs']);
const rulesOf = (text: string) => findUnsafeStatements(text, existing).map(({ rule }) => rule);

test.each([
  ['DROP TABLE jobs;', 'drops a table'],
  ['ALTER TABLE jobs DROP COLUMN s3_key;', 'drops a column'],
  ['ALTER TABLE jobs RENAME COLUMN s3_key TO key;', 'renames'],
  ['ALTER TABLE jobs RENAME TO tasks;', 'renames'],
  ['ALTER TABLE jobs ALTER COLUMN priority TYPE bigint;', 'changes the type of a column'],
  ['ALTER TABLE jobs ALTER COLUMN document_id SET NOT NULL;', 'forbids null'],
  ['ALTER TABLE jobs ADD COLUMN region text NOT NULL;', 'adds a column that is not null and has no default'],
  ['ALTER TABLE jobs ADD COLUMN a text, ADD b text NOT NULL;', 'adds a column that is not null and has no default'],
  ['ALTER TABLE jobs ADD CONSTRAINT named CHECK (file_name <> $$$$);', 'adds a constraint to an existing table'],
  ['ALTER TABLE jobs ADD UNIQUE (s3_key);', 'adds a constraint to an existing table'],
  ['CREATE UNIQUE INDEX jobs_by_key ON jobs (s3_key);', 'adds a unique index to an existing table'],
  [
    "ALTER TABLE jobs ADD COLUMN key text DEFAULT ''; CREATE UNIQUE INDEX jobs_by_key ON jobs (key);",
    'adds a unique index to an existing table',
  ],
  ['DROP FUNCTION document_terms;', 'drops a function, view, type or sequence'],
  ['TRUNCATE jobs;', 'removes all rows'],
])('the rule of migrations finds: %s', (text, rule) => {
  expect(rulesOf(text)).toEqual([rule]);
});

test.each([
  ['CREATE TABLE tasks (id text PRIMARY KEY, kind text NOT NULL UNIQUE);'],
  ["ALTER TABLE jobs ADD COLUMN region text NOT NULL DEFAULT 'eu', ADD COLUMN other numeric(10, 2);"],
  ["ALTER TABLE jobs DROP CONSTRAINT kinds; ALTER TABLE jobs ADD CONSTRAINT kinds CHECK (kind IN ('a', 'b', 'c'));"],
  ['ALTER TABLE jobs ADD COLUMN key text; CREATE UNIQUE INDEX jobs_by_key ON jobs (key) WHERE key IS NOT NULL;'],
  ['ALTER TABLE jobs ADD COLUMN key text; CREATE UNIQUE INDEX jobs_by_key ON jobs (key, org_id);'],
  ['CREATE INDEX jobs_by_key ON jobs (s3_key); -- DROP TABLE jobs'],
  ["CREATE FUNCTION f() RETURNS text LANGUAGE sql AS $$ SELECT 'DROP TABLE jobs; TRUNCATE jobs' $$;"],
  ['-- minimum-compatible-version: 20\n-- unused-since: 20\nALTER TABLE jobs DROP COLUMN s3_key;'],
])('the rule of migrations accepts: %s', (text) => {
  expect(rulesOf(text)).toEqual([]);
});

test('a migration that removes what is unused must keep older processes from starting', () => {
  const text = '-- minimum-compatible-version: 1\n-- unused-since: 20\nALTER TABLE jobs DROP COLUMN s3_key;';
  expect(rulesOf(text)).toEqual(['drops a column']);
});
