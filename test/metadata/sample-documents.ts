import type { Caller } from '../../src/access/caller.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { createRandom } from '../support/random.ts';
import type { PlainDocument } from './interpreter.ts';

export const ORG_ID = 'org_statements';
export const BUCKET_ID = 'bkt_01k2statements0000000007';
const FOREIGN_BUCKET_ID = 'bkt_01k2statements0000010007'; // it has the same last characters, with which index terms begin

/** Caller that may see neither privacy levels above 8 nor other departments. */
export const CALLER: Caller = {
  kind: 'user',
  actor: 'user:usr_reader',
  orgId: ORG_ID,
  plan: 'enterprise',
  userId: 'usr_reader',
  role: 'member',
  department: 'sales',
  scopes: new Set(),
  authLevel: 8,
};

/** Texts that some layer could mistake for something else than text. */
export const TEXTS = [
  ...['', ' ', 'a', 'A', 'ab', 'abc', 'b', 'é', 'e\u0301', 'ｅ', '가', '각', '𝒳', '\uffff', '😀', 'ß', 'SS'],
  ...[
    '0',
    '1',
    '-1',
    '5',
    '7',
    '10',
    '9',
    '9.0',
    '007',
    '1e3',
    '1e+21',
    '1E3',
    '1000',
    '-0',
    '1e999',
    '1e1000',
    '-2.50',
  ],
  ...['0.1', '.5', '5.', '+5', '٣', '1 000', '0x10', 'NaN', 'Infinity', '12345678901234567890', `${'9'.repeat(300)}.5`],
  ...['true', 'false', 'TRUE', 'NULL', 'null', 'team-1', 'team-10', 'team-2', 'team_1', 'team%1'],
  ...["it's", "''", "'", '"', '""', '\\', '\\\\', "\\'", 'a\\', 'a%b', 'a_b', '%', '_', '\\%', '\\_', '100%'],
  ...[
    "'; DROP TABLE documents; --",
    "' OR '1'='1",
    '$1',
    '$$',
    '{}',
    '{"a":1}',
    ':*',
    "'a':*",
    'a & b',
    'a | !b',
    '<->',
  ],
  ...[
    '/* a */',
    '-- a',
    'a;b',
    'a=b',
    '"team=a',
    '.status=ready',
    '0007"team=a',
    '\u200b',
    '\u2019',
    'ready',
    'common',
  ],
  ...[
    'x'.repeat(79),
    'x'.repeat(80),
    'x'.repeat(81),
    `${'x'.repeat(80)}a`,
    `${'x'.repeat(80)}b`,
    '가'.repeat(100),
    '𝒳'.repeat(85),
  ],
];

/**
 * User keys. `te` is a prefix of another; `limit` and `in` are keywords, `id` and `created_at` fields, so they are
 * quoted.
 */
export const USER_KEYS = [
  'team',
  'te',
  'year',
  'a.b',
  'a-b',
  '_x',
  'T',
  'limit',
  'in',
  'id',
  'created_at',
  '7',
  'missing',
];

/** Fields with the values that they take here; `makeDocuments` sets the times. */
const FIELD_VALUES: Readonly<Record<string, readonly (string | number | boolean | null)[]>> = {
  file_name: ['report.pdf', 'report-2.pdf', "it's.txt", '가나다.md', 'a%b.csv', 'R.pdf', `${'n'.repeat(250)}.txt`],
  file_type: ['pdf', 'txt', 'md', null],
  source_path: ['report.pdf', 'a/report.pdf', 'a/b/가나다.md', null],
  collection_id: ['col_a', 'col_b', null],
  searchable: [true, true, false],
  status: ['ready', 'failed', 'queued', 'processing', 'deleting'],
  privacy_level: [1, 2, 3, 5, 7, 8, 9, 10],
  internal_accessible: [true, false],
  public_accessible: [false, true],
  classification: ['internal', 'public', 'restricted', 'confidential'],
  review_status: ['pending', 'approved', 'rejected'],
  owner_department: ['sales', 'legal', null],
  scope: [null, 'common', 'sales', 'legal'],
  uploaded_by_user_id: ['usr_a', 'usr_b', null],
};
export const FIELD_NAMES = ['id', 'created_at', 'updated_at', ...Object.keys(FIELD_VALUES)];

/** Texts to compare fields with, beside TEXTS. */
export const FIELD_TEXTS = [
  ...new Set(Object.values(FIELD_VALUES).flatMap((values) => values.filter((value) => value !== null).map(String))),
  ...['2026-01-01', '2026-02', '2026-02-03T04:05:06.007Z', 'doc_003', 'doc_00010'],
];

/** Make `count` documents in order of their ids, also some that are being deleted or hidden from CALLER. */
export function makeDocuments(count: number): PlainDocument[] {
  const { int: draw, pick } = createRandom(1);
  return Array.from({ length: count }, (_, at) => {
    const id = `doc_${String(at).padStart(5, '0')}`;
    const created = new Date(Date.UTC(2026, 0, 1) + draw(90) * 86_400_000 + draw(86_400_000)).toISOString();
    const metadata: Record<string, string> = {};
    for (const key of USER_KEYS) if (key !== 'missing' && draw(2) === 0) metadata[key] = pick(TEXTS).normalize('NFC');
    const fields: Record<string, string | number | boolean | null> = { id, created_at: created, updated_at: created };
    for (const [name, values] of Object.entries(FIELD_VALUES)) fields[name] = pick(values);
    return { id, fields, metadata };
  });
}

export function isVisible(document: PlainDocument): boolean {
  return document.fields['status'] !== 'deleting' && isReadable(document);
}

/** Return true if CALLER may read a document, even while it is being deleted. */
export function isReadable({ fields }: PlainDocument): boolean {
  const scope = fields['scope'];
  return (
    (fields['privacy_level'] as number) <= CALLER.authLevel &&
    (scope === null || scope === 'common' || scope === CALLER.department)
  );
}

/** Insert documents into a bucket, and again into another bucket of the same organization. */
export async function insertDocuments(sql: Sql, documents: readonly PlainDocument[]): Promise<void> {
  await sql`INSERT INTO organizations (id, name, plan) VALUES (${ORG_ID}, 'statements', 'enterprise')`;
  for (const bucketId of [BUCKET_ID, FOREIGN_BUCKET_ID]) {
    await sql`INSERT INTO buckets (id, org_id, name, policy) VALUES (${bucketId}, ${ORG_ID}, ${bucketId.slice(4)}, ${sql.json(BucketPolicy.parse({}))})`;
  }
  for (const id of ['col_a', 'col_b']) {
    await sql`INSERT INTO collections (id, org_id, bucket_id, name) VALUES (${id}, ${ORG_ID}, ${BUCKET_ID}, ${id})`;
  }
  const constants = {
    org_id: ORG_ID,
    size_bytes: 1,
    sha256: '\\x00',
    object_key: 'k',
    ingest_options: {},
    keyword_only: false,
    content_pending: false,
  };
  const rows = documents.flatMap(({ id, fields, metadata }) => [
    { ...constants, ...fields, metadata, bucket_id: BUCKET_ID },
    { ...constants, ...fields, metadata, bucket_id: FOREIGN_BUCKET_ID, id: `other_${id}` },
  ]);
  await sql`INSERT INTO documents SELECT * FROM jsonb_populate_recordset(NULL::documents, ${sql.json(rows)})`;
}
