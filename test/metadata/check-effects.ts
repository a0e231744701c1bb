import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { pino } from 'pino';
import type { Caller } from '../../src/access/caller.ts';
import type { JobNotifier } from '../../src/jobs/notifier.ts';
import { editDocuments } from '../../src/metadata/edit-documents.ts';
import { BulkEdit } from '../../src/metadata/schema.ts';
import { createRandom } from '../support/random.ts';
import { countLeaves, limit, literal, QUOTED, seed, tree } from './draw-statements.ts';
import {
  evaluate,
  type Key,
  type Literal,
  type PlainDocument,
  print,
  printKey,
  printLiteral,
  storedForm,
} from './interpreter.ts';
import { DOCUMENTS, type Sample } from './sample.ts';
import { BUCKET_ID, CALLER, isReadable, isVisible, makeDocuments, ORG_ID, USER_KEYS } from './sample-documents.ts';

/** Caller like CALLER that may edit metadata. */
const MANAGER: Caller = {
  ...CALLER,
  kind: 'api_key',
  actor: 'key:manager',
  role: null,
  scopes: new Set(['buckets:manage']),
};

/** Assignments that the interpreter can apply, by `apply`. */
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
    const draw = createRandom(drawn.seed).int;
    const set = drawn.assignments?.map(({ key: target, value }) => `${printKey(target)}=${printLiteral(value, draw)}`);
    const head = set ? `UPDATE documents SET ${set.join(', ')}` : 'SOFTDELETE FROM documents';
    const tail = drawn.limit === null ? '' : ` LIMIT ${drawn.limit}`;
    return { ...drawn, text: `${head} WHERE ${print(drawn.tree, draw)}${tail}` };
  })
  .filter((drawn) => drawn.text.length <= 4000);

/** Return a document after the assignments; null assignments are a SOFTDELETE. */
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
  // In a bucket of the default policy no document whose level is set above 1 becomes or stays public.
  if (isLevelSet && (after.fields['privacy_level'] as number) > 1) after.fields['public_accessible'] = false;
  return { id, ...after };
}

/**
 * Check that changing statements have the effects that the interpreter computes, and no others; each is rolled back.
 */
export async function checkEffects(
  { sql }: Sample,
  runs: { seed: number; numRuns: number },
): Promise<{ updated: number }> {
  const all = makeDocuments(DOCUMENTS);
  let updated = 0;
  const context = { notifier: SILENT, logger: pino({ level: 'silent' }), queueHardDelete: refuse };
  await fc.assert(
    fc.asyncProperty(change, async (model) => {
      await sql
        .begin(async (tx) => {
          const body = BulkEdit.parse({ statement: model.text, reindex: false });
          const matched = all
            .filter((document) => isReadable(document) && evaluate(model.tree, document) === true)
            .map((document) => ({ document, rank: rankOf(document, model.assignments) }))
            .toSorted((a, b) => compareTexts(a.rank, b.rank))
            .slice(0, model.limit ?? 500)
            .map(({ document }) => document);
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
          const reported = [reply.matched, reply.updated, reply.skipped, reply.items.map(({ id }) => id), audit.length];
          const expectedReply = [
            matched.length,
            changed.length,
            matched.length - changed.length,
            matched.map(({ id }) => id).toSorted(compareTexts),
            changed.length,
          ];
          if (!isDeepStrictEqual(reported, expectedReply))
            throw new Error(`reported ${JSON.stringify(reported)}, not ${JSON.stringify(expectedReply)}`);
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

/** Return the place of a match in the order of a change: documents that change first, then the oldest change. */
function rankOf(document: PlainDocument, assignments: Parameters<typeof apply>[1]): string {
  const after = plain(apply(document, assignments));
  const isPending = isVisible(document) && !isDeepStrictEqual(after, plain(document));
  return `${isPending ? 0 : 1} ${document.fields['updated_at']} ${document.id}`;
}

const compareTexts = (a: string, b: string) => (a < b ? -1 : 1);

const ROLLED_BACK = new Error('rolled back');
const SILENT: JobNotifier = { notifyQueued: async () => {}, notifyLost: async () => {}, listen: async () => {} };
const refuse = async () => {
  throw new Error('no HARDDELETE is among these');
};

/** Return the columns of a document to compare. Times are left out, since an edit changes `updated_at`. */
function plain({ fields, metadata }: PlainDocument): Record<string, unknown> {
  const { created_at: _created, updated_at: _updated, ...others } = fields;
  return { ...others, metadata };
}
