import fc from 'fast-check';
import { parseStatement } from '../../src/metadata/statement/parser.ts';
import { selectVisibleMatches } from '../../src/metadata/store.ts';
import { selection } from './draw-statements.ts';
import { evaluate } from './interpreter.ts';
import { DOCUMENTS, type Sample } from './sample.ts';
import { BUCKET_ID, CALLER } from './sample-documents.ts';

export interface Tally {
  statements: number;
  /** Statements that some but not all documents match, so that wrong results show. */
  discriminating: number;
  matches: number;
}

/** Check that statements find what the interpreter finds, in the same order. Throws the shortest that does not. */
export async function checkMatches(
  { sql, documents }: Sample,
  runs: { seed: number; numRuns: number },
): Promise<Tally> {
  const tally: Tally = { statements: 0, discriminating: 0, matches: 0 };
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
      if (expected.length > 0 && expected.length < documents.length) tally.discriminating++;
    }),
    { ...runs, endOnFailure: false },
  );
  return tally;
}
