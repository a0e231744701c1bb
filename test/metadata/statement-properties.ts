/** Properties of the statement language, to be run by tests for some and by the evaluation for many statements. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { pino } from 'pino';
import type { Caller } from '../../src/access/caller.ts';
import type { Doorbell } from '../../src/jobs/doorbell.ts';
import { editDocuments } from '../../src/metadata/edit-documents.ts';
import { BulkEdit } from '../../src/metadata/schema.ts';
import { parseStatement } from '../../src/metadata/statement/parser.ts';
import { selectVisibleMatches } from '../../src/metadata/store.ts';
import { AppError } from '../../src/platform/errors.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import {
  evaluate,
  type Key,
  keyword,
  type Literal,
  type PlainDocument,
  print,
  printKey,
  printLiteral,
  space,
  storedForm,
  type Tree,
} from './interpreter.ts';
import {
  BUCKET_ID,
  CALLER,
  drawer,
  FIELD_NAMES,
  FIELD_TEXTS,
  insertDocuments,
  isVisible,
  makeDocuments,
  ORG_ID,
  TEXTS,
  USER_KEYS,
} from './sample-documents.ts';

const DOCUMENTS = 300;

/** Keys that have to be quoted, being keywords, names of fields, or no words. */
const QUOTED = new Set(['limit', 'in', 'id', 'created_at', '7']);

const key: fc.Arbitrary<Key> = fc.oneof(
  fc.constantFrom(...FIELD_NAMES).map((name) => ({ name, quoted: false })),
  fc
    .tuple(fc.constantFrom(...USER_KEYS), fc.boolean())
    .map(([name, quoted]) => ({ name, quoted: quoted || QUOTED.has(name) })),
);

/** Without control characters and lone surrogates. */
const anyText = fc.string({ unit: 'grapheme', maxLength: 12 }).filter((text) => !/\p{Cc}/u.test(text));
const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...TEXTS, ...FIELD_TEXTS) },
  { weight: 1, arbitrary: anyText },
);

const number = fc.oneof(
  fc.constantFrom(
    '0',
    '-0',
    '1',
    '5',
    '7',
    '9',
    '9.0',
    '10',
    '1e3',
    '1E3',
    '-2.5',
    '0.1',
    '1e21',
    '1e-7',
    '1e308',
    '999',
  ),
  fc.integer({ min: -20, max: 2000 }).map(String),
  fc.tuple(fc.integer({ min: -999, max: 999 }), fc.integer({ min: 0, max: 999 })).map(([a, b]) => `${a}.${b}`),
);

const literal: fc.Arbitrary<Literal> = fc.oneof(
  { weight: 6, arbitrary: text.map((written) => ({ kind: 'string' as const, text: written })) },
  { weight: 4, arbitrary: number.map((written) => ({ kind: 'number' as const, written })) },
  { weight: 2, arbitrary: fc.boolean().map((value) => ({ kind: 'boolean' as const, value })) },
  { weight: 1, arbitrary: fc.constant({ kind: 'null' as const }) },
);

/** Patterns made of the values, so that they match: a start, an end or a middle, or with characters replaced. */
const pattern = fc.tuple(text, fc.nat(6), fc.nat(20)).map(([base, form, at]) => {
  const escaped = base.replace(/[\\%_]/g, '\\$&');
  const characters = Array.from(base, (character) => (/[\\%_]/.test(character) ? `\\${character}` : character));
  const cut = characters.slice(0, at).join('');
  if (form === 0) return escaped;
  if (form === 1) return `${cut}%`;
  if (form === 2) return `%${characters.slice(at % 3).join('')}`;
  if (form === 3) return `%${cut}%`;
  if (form === 4) return characters.map((character, place) => (place === at ? '_' : character)).join('');
  if (form === 5) return `${cut}_%`;
  return base.replace(/\\+$/, '');
});

const tree: fc.Arbitrary<Tree> = fc.letrec<{ tree: Tree; leaf: Tree }>((tie) => ({
  leaf: fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('compare' as const),
        key,
        sign: fc.constantFrom('=', '=', '!=', '<>', '<', '<=', '>', '>='),
        value: literal,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('in' as const),
        key,
        negated: fc.boolean(),
        values: fc.array(literal, { minLength: 1, maxLength: 6 }),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('like' as const), key, negated: fc.boolean(), pattern }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('null' as const), key, negated: fc.boolean() }) },
  ),
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    { weight: 3, arbitrary: tie('leaf') },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constantFrom('and' as const, 'or' as const),
        parts: fc.array(tie('tree'), { minLength: 2, maxLength: 3 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('not' as const), part: tie('tree') }) },
  ),
})).tree;

const seed = fc.noShrink(fc.nat({ max: 2 ** 31 - 1 }));
const limit = fc.option(fc.integer({ min: 1, max: 400 }), { nil: null });

interface Model {
  readonly tree: Tree;
  readonly limit: number | null;
  readonly text: string;
}

const selection: fc.Arbitrary<Model> = fc
  .record({ tree: tree.filter((drawn) => countLeaves(drawn) <= 50), limit, seed })
  .map((drawn) => {
    const draw = drawer(drawn.seed);
    const head = ['SELECT', 'DOCUMENTS', 'WHERE'].map((word) => keyword(word, draw) + space(draw)).join('');
    const tail = drawn.limit === null ? '' : `${space(draw)}${keyword('LIMIT', draw)} ${drawn.limit}`;
    return { ...drawn, text: `${head}${print(drawn.tree, draw)}${tail}${draw(2) ? ';' : ''}` };
  })
  .filter((model) => model.text.length <= 4000);

function countLeaves(drawn: Tree): number {
  if (drawn.kind === 'not') return countLeaves(drawn.part);
  return 'parts' in drawn ? drawn.parts.reduce((sum, part) => sum + countLeaves(part), 0) : 1;
}

/** A bucket of documents in PostgreSQL, and what the interpreter knows of them. */
export interface Sample {
  readonly sql: Sql;
  readonly documents: readonly PlainDocument[];
}

export async function openSample(sql: Sql): Promise<Sample> {
  const documents = makeDocuments(DOCUMENTS);
  await insertDocuments(sql, documents);
  return { sql, documents: documents.filter(isVisible) };
}

export interface Tally {
  statements: number;
  /** Statements that some but not all documents match: those that tell right from wrong. */
  telling: number;
  matches: number;
}

/** Statements of the grammar find what the interpreter finds, in the same order. Throws the shortest that do not. */
export async function checkMatches(
  { sql, documents }: Sample,
  runs: { seed: number; numRuns: number },
): Promise<Tally> {
  const tally: Tally = { statements: 0, telling: 0, matches: 0 };
  await fc.assert(
    fc.asyncProperty(selection, async (model) => {
      const statement = parseStatement(model.text);
      if (statement.kind !== 'select' || statement.limit !== model.limit) throw new Error('read as something else');
      const expected = documents.filter((document) => evaluate(model.tree, document) === true).map(({ id }) => id);
      const rowsMax = statement.limit ?? DOCUMENTS;
      const scope = { caller: CALLER, bucketId: BUCKET_ID, where: statement.where };
      const found = (await selectVisibleMatches(sql, scope, rowsMax)).map(({ id }) => id);
      const difference = JSON.stringify({
        missing: expected.slice(0, rowsMax).filter((id) => !found.includes(id)),
        found,
      });
      if (JSON.stringify(found) !== JSON.stringify(expected.slice(0, rowsMax))) throw new Error(difference);
      tally.statements++;
      tally.matches += found.length;
      if (expected.length > 0 && expected.length < documents.length) tally.telling++;
    }),
    { ...runs, endOnFailure: false },
  );
  return tally;
}

/** As CALLER, and may edit metadata. */
const MANAGER: Caller = {
  ...CALLER,
  kind: 'api_key',
  actor: 'key:manager',
  role: null,
  scopes: new Set(['buckets:manage']),
};

/** Assignments of which the interpreter knows what they do; `apply` does it. */
const assignment: fc.Arbitrary<{ key: Key; value: Literal; field?: string }> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      key: fc.constantFrom(...USER_KEYS).map((name) => ({ name, quoted: QUOTED.has(name) })),
      value: literal.filter((drawn) => drawn.kind !== 'string' || drawn.text.length <= 512),
    }),
  },
  ...(
    [
      ['classification', ['public', 'restricted']],
      ['review_status', ['approved', 'pending']],
      ['scope', ['common', 'legal', 'sales']],
      ['privacy_level', ['1', '4', '10']],
      ['searchable', ['true', 'false']],
    ] as const
  ).map(([name, texts]) => ({
    weight: 1,
    arbitrary: fc
      .constantFrom(...texts)
      .map((text) => ({ key: { name, quoted: false }, value: { kind: 'string' as const, text }, field: name })),
  })),
);

const change = fc
  .record({
    tree: tree.filter((drawn) => countLeaves(drawn) <= 50),
    assignments: fc.option(
      fc.uniqueArray(assignment, { minLength: 1, maxLength: 5, selector: (drawn) => drawn.key.name }),
      { nil: null, freq: 4 },
    ),
    limit,
    seed,
  })
  .map((drawn) => {
    const draw = drawer(drawn.seed);
    const set = drawn.assignments?.map(({ key: target, value }) => `${printKey(target)}=${printLiteral(value, draw)}`);
    const head = set ? `UPDATE documents SET ${set.join(', ')}` : 'SOFTDELETE FROM documents';
    const tail = drawn.limit === null ? '' : ` LIMIT ${drawn.limit}`;
    return { ...drawn, text: `${head} WHERE ${print(drawn.tree, draw)}${tail}` };
  })
  .filter((drawn) => drawn.text.length <= 4000);

/** A document after the assignments; null assignments are a SOFTDELETE. */
function apply(
  { id, fields, metadata }: PlainDocument,
  assignments: readonly { key: Key; value: Literal; field?: string }[] | null,
): PlainDocument {
  if (assignments === null) return { id, metadata, fields: { ...fields, searchable: false } };
  const after = { fields: { ...fields }, metadata: { ...metadata } };
  for (const { key: target, value, field } of assignments) {
    if (value.kind === 'null') delete after.metadata[target.name];
    else if (field === undefined) after.metadata[target.name] = storedForm(value);
    else if (field === 'searchable') after.fields[field] = storedForm(value) === 'true';
    else if (field === 'privacy_level') after.fields[field] = Math.min(Number(storedForm(value)), MANAGER.authLevel);
    else after.fields[field] = storedForm(value);
  }
  const isLevelSet = assignments.some(({ field }) => field === 'privacy_level');
  // Above level 1 nothing becomes or stays public in a bucket of the default policy, once it is asked about.
  if (isLevelSet && (after.fields['privacy_level'] as number) > 1) after.fields['public_accessible'] = false;
  return { id, ...after };
}

/** Statements that change do to the bucket what the interpreter says, and to nothing else; each is rolled back. */
export async function checkEffects(
  { sql }: Sample,
  runs: { seed: number; numRuns: number },
): Promise<{ updated: number }> {
  const all = makeDocuments(DOCUMENTS);
  let updated = 0;
  const context = { doorbell: SILENT, logger: pino({ level: 'silent' }), queueHardDelete: refuse };
  await fc.assert(
    fc.asyncProperty(change, async (model) => {
      await sql
        .begin(async (tx) => {
          const body = BulkEdit.parse({ statement: model.text, reindex: false });
          const matched = all
            .filter((document) => evaluate(model.tree, document) === true)
            .slice(0, model.limit ?? 500);
          const wanted = new Map(
            matched.filter(isVisible).map((document) => [document.id, apply(document, model.assignments)]),
          );
          const reply = await editDocuments({ ...context, sql: tx }, MANAGER, BUCKET_ID, body);
          const audit = await tx`SELECT target FROM audit_log`;
          const rows = await tx`
            SELECT to_jsonb(documents) AS document FROM documents WHERE bucket_id = ${BUCKET_ID} ORDER BY id`;
          const changed: string[] = [];
          for (const [at, row] of rows.entries()) {
            const before = all[at] as PlainDocument;
            const expected = wanted.get(before.id) ?? before;
            const found = row['document'] as Record<string, unknown>;
            if (!isDeepStrictEqual(plain(expected), plain(before))) changed.push(before.id);
            for (const [name, value] of Object.entries({ ...plain(expected), org_id: ORG_ID })) {
              if (isDeepStrictEqual(found[name], value)) continue;
              throw new Error(`${before.id} ${name}: ${JSON.stringify(found[name])}, not ${JSON.stringify(value)}`);
            }
          }
          const told = [reply.matched, reply.updated, reply.skipped, reply.items.map(({ id }) => id), audit.length];
          const truth = [matched.length, changed.length, matched.length - changed.length, changed, changed.length];
          if (!isDeepStrictEqual(told, truth))
            throw new Error(`told ${JSON.stringify(told)}, not ${JSON.stringify(truth)}`);
          updated += changed.length;
          throw ROLLED_BACK;
        })
        .catch((error: unknown) => {
          if (error !== ROLLED_BACK) throw error;
        });
    }),
    { ...runs, endOnFailure: false },
  );
  return { updated };
}

const ROLLED_BACK = new Error('rolled back');
const SILENT: Doorbell = { ring: async () => {}, recall: async () => {}, listen: async () => {} };
const refuse = async () => {
  throw new Error('no HARDDELETE is among these');
};

/** Columns that an edit may change, and one that it may not. Times are left out: `updated_at` is to move. */
function plain({ fields, metadata }: PlainDocument): Record<string, unknown> {
  const { created_at: _created, updated_at: _updated, ...others } = fields;
  return { ...others, metadata };
}

/** What statements are damaged with. */
const SPLINTERS = [
  ...[
    "'",
    '"',
    '(',
    ')',
    ',',
    ';',
    '=',
    '<',
    '>',
    '!',
    '\\',
    '%',
    '_',
    '-',
    '--',
    '/*',
    '*/',
    '\0',
    '\n',
    '\u00a0',
    '\u2019',
  ],
  ...[
    '＝',
    'ＳＥＬＥＣＴ',
    '\ud800',
    '\udc00',
    '\u202e',
    '😀',
    '$1',
    '$$',
    'NOT',
    'NULL',
    'AND',
    'OR',
    'IN',
    'LIKE',
    'IS',
  ],
  ...[
    'WHERE',
    'LIMIT',
    'documents',
    'DELETE',
    'DROP TABLE documents',
    'UNION',
    '1e999',
    '0x1',
    '.',
    '::text',
    '\ufeff',
  ],
  ...[
    'HARDDELETE FROM documents WHERE id LIKE',
    'UPDATE documents SET a = 1 WHERE',
    "' OR 1=1 --",
    '((((((((',
    ' '.repeat(50),
  ],
];

const damaged = fc
  .tuple(
    selection,
    fc.array(fc.tuple(fc.nat(4), fc.nat(4000), fc.constantFrom(...SPLINTERS)), { minLength: 1, maxLength: 4 }),
  )
  .map(([model, changes]) =>
    changes.reduce((text, [kind, place, splinter]) => {
      const at = place % (text.length + 1);
      if (kind === 0) return text.slice(0, at) + splinter + text.slice(at);
      if (kind === 1) return text.slice(0, at) + text.slice(at + 1 + (place % 7));
      if (kind === 2) return text.slice(0, at) + splinter + text.slice(at + splinter.length);
      if (kind === 3) return text.slice(0, at);
      return text.slice(0, at) + text.slice(Math.max(0, at - 30));
    }, model.text),
  );
const soup = fc
  .array(
    fc.oneof(
      fc.constantFrom(...SPLINTERS),
      fc.constantFrom(...TEXTS),
      fc.constantFrom(...USER_KEYS, 'SELECT', 'UPDATE', 'SET'),
    ),
    {
      maxLength: 60,
    },
  )
  .map((parts) => parts.join(' '));
const noise = fc.oneof(
  { weight: 6, arbitrary: damaged },
  { weight: 2, arbitrary: soup },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 300 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(...SPLINTERS), fc.nat(4100))
      .map(([part, times]) => part.repeat(times).slice(0, 4100)),
  },
);

export interface NoiseTally {
  strings: number;
  /** Those that are statements all the same. */
  read: number;
  /** The longest that one took to be read, in milliseconds. */
  slowestMs: number;
  slowest: string;
}

/** Whatever the text: a statement of which the condition can be asked, or 400 `statement_invalid`. */
export async function checkNoise({ sql }: Sample, runs: { seed: number; numRuns: number }): Promise<NoiseTally> {
  const tally: NoiseTally = { strings: 0, read: 0, slowestMs: 0, slowest: '' };
  await fc.assert(
    fc.asyncProperty(noise, async (source) => {
      const statement = tryToParse(source);
      const ms = timeToParse(source);
      tally.strings++;
      if (ms > tally.slowestMs) Object.assign(tally, { slowestMs: ms, slowest: source });
      if (statement === null) return;
      tally.read++;
      await selectVisibleMatches(sql, { caller: CALLER, bucketId: BUCKET_ID, where: statement.where }, 1);
    }),
    { ...runs, endOnFailure: false },
  );
  return tally;
}

/** The best of a few tries where the first was slow: a busy machine is slow once, a bad parser each time. */
function timeToParse(source: string): number {
  let best = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 5 && best > 5; attempt++) {
    const start = performance.now();
    tryToParse(source);
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

function tryToParse(source: string) {
  try {
    return parseStatement(source);
  } catch (error) {
    if (error instanceof AppError && error.status === 400 && error.code === 'statement_invalid') {
      if (/\p{Cc}|\p{Cs}/u.test(error.message))
        throw new Error(`the message shows what it should name: ${error.message}`);
      return null;
    }
    throw error;
  }
}

/** Changes whenever anything in the tables of documents does. */
export async function fingerprint(sql: Sql): Promise<string> {
  const [row] = await sql`
    SELECT md5(string_agg(documents::text, '' ORDER BY id)) AS documents,
           (SELECT count(*) FROM audit_log) AS audit, (SELECT count(*) FROM jobs) AS jobs FROM documents`;
  return JSON.stringify(row);
}
