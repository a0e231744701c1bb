import fc from 'fast-check';
import { parseStatement } from '../../src/metadata/statement/parser.ts';
import { selectVisibleMatches } from '../../src/metadata/store.ts';
import { AppError } from '../../src/platform/errors.ts';
import { selection } from './draw-statements.ts';
import type { Sample } from './sample.ts';
import { BUCKET_ID, CALLER, TEXTS, USER_KEYS } from './sample-documents.ts';

/** Texts that are inserted to damage statements. */
const FRAGMENTS = [
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
    fc.array(fc.tuple(fc.nat(4), fc.nat(4000), fc.constantFrom(...FRAGMENTS)), { minLength: 1, maxLength: 4 }),
  )
  .map(([model, changes]) =>
    changes.reduce((text, [kind, place, fragment]) => {
      const at = place % (text.length + 1);
      if (kind === 0) return text.slice(0, at) + fragment + text.slice(at);
      if (kind === 1) return text.slice(0, at) + text.slice(at + 1 + (place % 7));
      if (kind === 2) return text.slice(0, at) + fragment + text.slice(at + fragment.length);
      if (kind === 3) return text.slice(0, at);
      return text.slice(0, at) + text.slice(Math.max(0, at - 30));
    }, model.text),
  );
const soup = fc
  .array(
    fc.oneof(
      fc.constantFrom(...FRAGMENTS),
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
      .tuple(fc.constantFrom(...FRAGMENTS), fc.nat(4100))
      .map(([part, times]) => part.repeat(times).slice(0, 4100)),
  },
);

export interface NoiseTally {
  strings: number;
  /** Strings that are valid statements all the same. */
  read: number;
  /** Longest time to parse one, in milliseconds. */
  slowestMs: number;
  slowest: string;
}

/** Check that any text is either a statement that can be executed or refused by 400 `statement_invalid`. */
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

/**
 * Return the best time of a few attempts if the first was slow: a busy machine is slow once, a bad parser each time.
 */
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
        throw new Error(`the message shows an invisible character that it should name: ${error.message}`);
      return null;
    }
    throw error;
  }
}
